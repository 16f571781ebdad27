import { authorization, hlsUrl, type Wanted } from './address.ts'
import { readAttribute } from './attributes.ts'
import { html, setText } from './dom.ts'

const COLOR = /^#(?:[\da-f]{3}|[\da-f]{6})$/i

/** The address of an image that a page names: over https or from the page's own origin. Null: any other, or none. */
export function imageUrl(text: string, page: string = document.baseURI): string | null {
  if (text === '' || !URL.canParse(text, page)) return null
  const { href, protocol, origin } = new URL(text, page)
  return protocol === 'https:' || (protocol === 'http:' && origin === new URL(page).origin) ? href : null
}

/** What the owner of a page puts on its player: a heading, a logo, a colour, and an image until the stream plays. */
export class Brand {
  readonly heading = html('span', { class: 'heading' })
  readonly logo = html('img', { class: 'logo', alt: '', hidden: true })
  readonly poster = html('div', { class: 'poster', 'aria-hidden': 'true' })
  readonly #frame: HTMLElement
  #loading = new AbortController()
  #shown = ''

  constructor(frame: HTMLElement) {
    this.#frame = frame
  }

  /** Shows what the attributes name, and nothing for what is not valid. */
  apply(element: Element): void {
    setText(this.heading, readAttribute(element, 'heading'))
    const logo = imageUrl(readAttribute(element, 'logo'))
    this.logo.hidden = logo === null
    if (logo === null) this.logo.removeAttribute('src')
    else if (this.logo.src !== logo) this.logo.src = logo
    const color = readAttribute(element, 'color')
    if (COLOR.test(color)) this.#frame.style.setProperty('--accent', color)
    else this.#frame.style.removeProperty('--accent')
  }

  /** Loads the image of the attribute `poster`; without a value the latest thumbnail of the stream, as far as the token opens it. */
  loadPoster(attribute: string | null, wanted: Wanted | null): void {
    const key = JSON.stringify([attribute, wanted])
    if (key === this.#shown) return
    this.forgetPoster()
    this.#shown = key
    if (attribute === null) return
    if (attribute.trim() === '') void this.#showThumbnail(wanted)
    else {
      const src = imageUrl(attribute.trim())
      if (src !== null) this.poster.replaceChildren(html('img', { src, alt: '' }))
    }
  }

  forgetPoster(): void {
    this.#loading.abort()
    this.#shown = ''
    this.poster.replaceChildren()
  }

  /** Drawn, so that the page needs no more than `connect-src` for it, and the token stays out of addresses. */
  async #showThumbnail(wanted: Wanted | null): Promise<void> {
    this.#loading = new AbortController()
    const { signal } = this.#loading
    const image = wanted?.stream ? await thumbnailOf(wanted, signal).catch(() => null) : null
    if (image === null || signal.aborted) return
    const canvas = html('canvas')
    canvas.width = image.width
    canvas.height = image.height
    canvas.getContext('bitmaprenderer')?.transferFromImageBitmap(image)
    this.poster.replaceChildren(canvas)
  }
}

/** Null: there is none, or the token does not open it. */
async function thumbnailOf(wanted: Wanted, signal: AbortSignal): Promise<ImageBitmap | null> {
  const response = await fetch(hlsUrl(wanted, 'thumbnail.jpeg'), { headers: authorization(wanted.token), signal })
  return response.ok ? createImageBitmap(await response.blob()) : null
}
