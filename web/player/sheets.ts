import { html } from './dom.ts'
import { WORDS } from './words.ts'

/** A sheet over the video, of which one at most is open. */
export class Sheet {
  readonly element: HTMLElement
  readonly #close = html('button', { type: 'button', class: 'close' }, WORDS.close)
  #opener: HTMLElement | null = null

  constructor(name: string, title: string, ...content: readonly Node[]) {
    const head = html('div', { class: 'head' }, html('h2', {}, title), this.#close)
    const attributes = { class: `sheet ${name}`, role: 'group', 'aria-label': title, hidden: true }
    this.element = html('div', attributes, head, ...content)
    this.#close.addEventListener('click', () => this.close())
  }

  get isOpen(): boolean {
    return !this.element.hidden
  }

  /** `opener` gets the focus back. */
  open(opener: HTMLElement): void {
    this.#opener = opener
    this.element.hidden = false
    this.#close.focus()
  }

  close(): void {
    if (!this.isOpen) return
    this.element.hidden = true
    this.#opener?.focus()
  }
}

/** What each key does, for people. */
export function keyTable(): HTMLElement {
  const list = html('dl')
  for (const [keys, does] of WORDS.keys) {
    const names = keys.map((key) => html('kbd', {}, key))
    list.append(html('dt', {}, ...names), html('dd', {}, does))
  }
  return list
}
