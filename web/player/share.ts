import type { Wanted } from './address.ts'
import { html, setText } from './dom.ts'
import { WORDS } from './words.ts'

/** The address of the page of a stream, and the code that embeds it, to copy. Neither has a token: that is the viewer's own. */
export class Share {
  readonly content = html('div', { class: 'share-fields' })
  readonly #link = new Copied(WORDS.link)
  readonly #embed = new Copied(WORDS.embedCode)
  readonly #note = html('p')

  constructor() {
    this.content.append(this.#link.element, this.#embed.element, this.#note)
  }

  /** A page in a frame could not ask for the token of a secured stream, so that there is no code for it. */
  show({ server, stream, token }: Wanted): void {
    if (stream === null) return
    const url = `${server}watch/${stream}`
    const isSecured = token !== ''
    this.#link.set(url)
    this.#embed.set(`<iframe src="${url}" allow="autoplay; fullscreen; picture-in-picture"></iframe>`)
    this.#embed.element.hidden = isSecured
    setText(this.#note, isSecured ? WORDS.ownToken : '')
  }
}

/** A text with a button that copies it. */
class Copied {
  readonly element: HTMLElement
  readonly #field: HTMLInputElement
  readonly #button = html('button', { type: 'button', 'aria-live': 'polite' }, WORDS.copy)

  constructor(label: string) {
    this.#field = html('input', { readonly: true, 'aria-label': label })
    this.element = html('div', { class: 'copied' }, html('span', {}, label), this.#field, this.#button)
    this.#button.addEventListener('click', () => void this.#copy())
    this.#field.addEventListener('focus', () => this.#field.select())
  }

  set(text: string): void {
    this.#field.value = text
    setText(this.#button, WORDS.copy)
  }

  /** Where the page may not write to the clipboard, the text is selected. */
  async #copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.#field.value)
      setText(this.#button, WORDS.copied)
    } catch {
      this.#field.focus()
      this.#field.select()
    }
  }
}
