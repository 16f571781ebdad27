// The search of the documentation, which loads what it knows when the field is first used, from the same folder; and the
// languages and copies of samples.
import { Finder, type Found, type Known } from './find.ts'

const root = new URL(document.body.dataset['root'] ?? './', location.href)

/** What every page has. */
const form = the(document.querySelector<HTMLFormElement>('form[role=search]'))
const field = the(document.querySelector<HTMLInputElement>('#search'))
const list = the(document.querySelector<HTMLElement>('#found'))
const menu = the(document.querySelector<HTMLDetailsElement>('.menu details'))

function the<E>(part: E | null): E {
  if (part === null) throw new Error('this page lacks a part')
  return part
}

let finder: Promise<Finder | null> | null = null

/** Loads what the search knows, once. Null: it could not be loaded now; the next call tries again. */
function load(): Promise<Finder | null> {
  finder ??= fetchFinder().catch(() => (finder = null))
  return finder
}

async function fetchFinder(): Promise<Finder> {
  const answer = await fetch(new URL('assets/search.json', root))
  return new Finder((await answer.json()) as readonly Known[])
}

async function search(): Promise<void> {
  const text = field.value.trim()
  const found = text === '' ? [] : (await load())?.find(text)
  // Something else may have been typed meanwhile.
  if (field.value.trim() !== text) return
  list.hidden = text === ''
  if (found === undefined) list.replaceChildren(status('The search could not be loaded. Type on to try again.'))
  else list.replaceChildren(status(found.length === 0 ? 'Nothing found' : `${found.length} found`), listOf(found))
}

function status(text: string): HTMLElement {
  const line = document.createElement('p')
  line.setAttribute('role', 'status')
  line.textContent = text
  return line
}

function listOf(found: readonly Found[]): HTMLElement {
  const items = document.createElement('ol')
  for (const { title, heading, address, excerpt } of found) {
    const link = document.createElement('a')
    link.href = new URL(address, root).href
    link.textContent = heading === title ? title : `${title}: ${heading}`
    const text = document.createElement('p')
    text.textContent = excerpt
    const item = document.createElement('li')
    item.append(link, text)
    items.append(item)
  }
  return items
}

/** The API reference remembers it under this name too (web/api/reference.js). */
const LANGUAGE = 'sluice-sample-language'

/** Above each sample a row of its languages. A choice holds for all samples, here and in the API reference. */
function offerLanguages(groups: readonly HTMLElement[]): void {
  const blocks = groups.flatMap((group) => [...group.querySelectorAll<HTMLElement>('[data-language]')])
  const languages = [...new Set(blocks.map(languageOf))]
  const buttons = groups.flatMap((group) => {
    const row = document.createElement('div')
    row.className = 'languages'
    row.append(...languages.map((language) => buttonOf(language, () => choose(language))))
    group.prepend(row)
    return [...row.querySelectorAll('button')]
  })
  function choose(chosen: string): void {
    localStorage.setItem(LANGUAGE, chosen)
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.textContent === chosen))
    for (const block of blocks) block.hidden = languageOf(block) !== chosen
  }
  const [first = ''] = languages
  const chosen = localStorage.getItem(LANGUAGE) ?? first
  choose(languages.includes(chosen) ? chosen : first)
}

const languageOf = ({ dataset }: HTMLElement): string => dataset['language'] ?? ''

function buttonOf(text: string, press: () => void): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = text
  button.addEventListener('click', press)
  return button
}

/** Below each block a button that copies it. */
function offerCopies(blocks: Iterable<HTMLElement>): void {
  for (const block of blocks) {
    const copied = (): string => (button.textContent = 'Copied')
    // Where the browser refuses, the text is chosen, so that Ctrl C copies it.
    const choose = (): void => getSelection()?.selectAllChildren(block)
    const button = buttonOf(
      'Copy',
      () => void navigator.clipboard.writeText(block.innerText.trimEnd()).then(copied, choose),
    )
    button.className = 'copy'
    block.after(button)
  }
}

const samples = [...document.querySelectorAll<HTMLElement>('.samples')]
if (samples.length > 0) offerLanguages(samples)
// Browsers have a clipboard for trusted pages alone.
if (isSecureContext) offerCopies(document.querySelectorAll<HTMLElement>('main pre'))

field.addEventListener('focus', () => void load())
field.addEventListener('input', () => void search())
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
list.addEventListener('click', (event) => {
  if (event.target instanceof HTMLAnchorElement) list.hidden = true
})
form.hidden = false
// On a phone the menu stands before the page.
if (matchMedia('(max-width: 50rem)').matches) menu.open = false
