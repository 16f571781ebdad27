// The API reference: finds operations, shows the samples of one language, and sends requests of its form.

const LANGUAGE = 'sluice-sample-language'
const TIMEOUT_MS = 30_000

/** More of an answer is not shown. */
const SHOWN_MAX = 200_000

/** Where Sluice is, also behind a path prefix; ends with `/`. */
const root = new URL(document.body.dataset.root, location.href)

function findOperations() {
  const menu = document.querySelector('.menu details')
  if (matchMedia('(max-width: 50rem)').matches) menu.open = false
  const current = menu.querySelector('[aria-current]')
  current?.scrollIntoView({ block: 'nearest' })
  const field = document.getElementById('find')
  field.addEventListener('input', () => show(menu, field.value.trim().toLowerCase()))
}

/** Shows the operations whose text or name has each word. */
function show(menu, text) {
  const words = text.split(/\s+/)
  for (const item of menu.querySelectorAll('li')) {
    const link = item.querySelector('a')
    const name = `${link.textContent} ${link.getAttribute('href')}`.toLowerCase()
    item.hidden = !words.every((word) => name.includes(word))
  }
  for (const section of menu.querySelectorAll('section')) section.hidden = !section.querySelector('li:not([hidden])')
}

/** Samples name the server that shows them. */
function nameServer() {
  const server = root.href.slice(0, -1)
  for (const code of document.querySelectorAll('pre.sample code'))
    code.textContent = code.textContent.replaceAll('http://localhost:8080', server)
}

function chooseLanguages(samples) {
  const sections = [...samples.querySelectorAll('[data-language]')]
  const names = sections.map((section) => section.dataset.language)
  const row = document.createElement('div')
  row.className = 'languages'
  const buttons = names.map((name) => buttonOf(name, () => choose(name)))
  const choose = (chosen) => {
    localStorage.setItem(LANGUAGE, chosen)
    names.forEach((name, at) => {
      buttons[at].setAttribute('aria-pressed', String(name === chosen))
      sections[at].hidden = name !== chosen
    })
  }
  row.append(...buttons)
  samples.prepend(row)
  const kept = localStorage.getItem(LANGUAGE)
  choose(names.includes(kept) ? kept : names[0])
}

function addCopyButtons() {
  for (const block of document.querySelectorAll('pre')) {
    const copied = () => (button.textContent = 'Copied')
    // Where the browser refuses, the text is chosen, so that Ctrl C copies it.
    const choose = () => getSelection().selectAllChildren(block)
    const button = buttonOf('Copy', () => navigator.clipboard.writeText(block.textContent).then(copied, choose))
    button.className = 'copy'
    // Browsers have a clipboard for trusted pages alone.
    if (navigator.clipboard) block.after(button)
  }
}

function buttonOf(text, onClick) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = text
  button.addEventListener('click', onClick)
  return button
}

/** A change is sent at the second press, because it is a change of this account. */
function sendRequests(form) {
  const button = form.querySelector('[type=submit]')
  const text = button.textContent
  const secret = document.getElementById('secret')
  const kept = `sluice-${form.dataset.scheme}`
  let isConfirmed = form.dataset.method === 'GET'
  let isSending = false
  const ask = (confirmed) => {
    isConfirmed = confirmed || form.dataset.method === 'GET'
    button.textContent = isConfirmed && form.dataset.method !== 'GET' ? `${text}: this changes your account` : text
  }
  // Kept until the tab is closed.
  secret.value = sessionStorage.getItem(kept) ?? ''
  if (secret.value !== '') form.querySelector('[value=secret]').checked = true
  secret.addEventListener('input', () => {
    sessionStorage.setItem(kept, secret.value)
    form.querySelector('[value=secret]').checked = true
  })
  form.addEventListener('input', () => ask(false))
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    // A disabled button would lose the focus.
    if (isSending) return
    if (!isConfirmed) return ask(true)
    ask(false)
    isSending = true
    await send(form, secret.value.trim())
    isSending = false
  })
  form.hidden = false
}

async function send(form, secret) {
  const isSession = form.elements.as.value === 'session'
  try {
    const response = await fetch(urlOf(form, isSession), {
      method: form.dataset.method,
      headers: { ...headersOf(form), ...(isSession ? { 'X-Sluice-Dashboard': '1' } : authorization(form, secret)) },
      body: bodyOf(form),
      credentials: isSession ? 'same-origin' : 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    showResult(`${response.status} ${response.statusText}`, await textOf(response))
  } catch (error) {
    showResult('No answer', String(error))
  }
}

/** The operations of both interfaces are below `/dashboard/api/` too, for sessions. */
function urlOf({ dataset, elements }, isSession) {
  const fields = [...elements].filter((field) => field.dataset.in !== undefined && field.value !== '')
  const path = dataset.path.replaceAll(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(elements[name].value))
  const url = new URL(isSession ? `dashboard/api${path.replace(/^\/api/, '')}` : path.slice(1), root)
  for (const { name, value, dataset: field } of fields.filter((each) => each.dataset.in === 'query'))
    for (const part of field.type === 'array' ? value.split(',') : [value]) url.searchParams.append(name, part.trim())
  return url
}

function authorization({ dataset }, secret) {
  const base64 = () => btoa(String.fromCodePoint(...new TextEncoder().encode(secret)))
  return { Authorization: dataset.scheme === 'basic' ? `Basic ${base64()}` : `Bearer ${secret}` }
}

function headersOf({ elements }) {
  if (elements.json) return { 'Content-Type': 'application/json' }
  return elements.file?.files[0] ? { 'Content-Type': elements.file.files[0].type } : {}
}

const bodyOf = ({ elements }) => elements.json?.value ?? elements.file?.files[0]

/** The text of an answer; of pictures and videos what they are. */
async function textOf(response) {
  const type = response.headers.get('content-type') ?? ''
  if (!/json|text/.test(type)) {
    await response.body?.cancel()
    return type === '' ? '' : `${type}, ${response.headers.get('content-length') ?? 'an unknown number of'} bytes`
  }
  const text = (await response.text()).slice(0, SHOWN_MAX)
  return type.includes('json') ? pretty(text) : text
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function showResult(status, text) {
  const heading = document.createElement('h3')
  heading.textContent = status
  const block = document.createElement('pre')
  block.tabIndex = 0
  block.setAttribute('role', 'region')
  block.setAttribute('aria-label', 'Answer')
  block.textContent = text
  const result = document.getElementById('result')
  result.replaceChildren(heading, ...(text === '' ? [] : [block]))
  result.hidden = false
}

findOperations()
nameServer()
addCopyButtons()
const samples = document.getElementById('languages')
if (samples) chooseLanguages(samples)
const form = document.getElementById('request')
if (form) sendRequests(form)
