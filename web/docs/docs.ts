// The search of the documentation: it loads what it knows when the field is first used, from the same folder.
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

let finder: Promise<Finder> | null = null

async function load(): Promise<Finder> {
  const answer = await fetch(new URL('assets/search.json', root))
  return new Finder((await answer.json()) as readonly Known[])
}

async function search(): Promise<void> {
  const text = field.value.trim()
  const found = text === '' ? [] : (await (finder ??= load())).find(text)
  // Something else may have been typed meanwhile.
  if (field.value.trim() !== text) return
  list.hidden = text === ''
  list.replaceChildren(counted(found.length), listOf(found))
}

function counted(count: number): HTMLElement {
  const line = document.createElement('p')
  line.setAttribute('role', 'status')
  line.textContent = count === 0 ? 'Nothing found' : `${count} found`
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

field.addEventListener('focus', () => void (finder ??= load()))
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
