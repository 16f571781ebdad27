import { Brand } from './brand.ts'
import { html, icon, setText } from './dom.ts'
import { Share } from './share.ts'
import { keyTable, Sheet } from './sheets.ts'
import { Statistics } from './statistics.ts'
import { ICONS } from './icons.ts'
import sheetStyles from './sheets.css?inline'
import styles from './styles.css?inline'
import { type Message, WORDS } from './words.ts'

function button(name: string, label: string, ...outlines: string[]): HTMLButtonElement {
  return html('button', { type: 'button', class: name, 'aria-label': label, title: label }, ...outlines.map(icon))
}

const styleSheets = [styles, sheetStyles].map((text) => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(text)
  return sheet
})

/** Everything that a player shows, in its shadow root. It shows and asks; `element.ts` decides. */
export class Screen {
  readonly video = html('video', { playsinline: true, part: 'video' })
  readonly badge = html('span', { class: 'badge' })
  readonly chip = html('span', { class: 'chip' })
  readonly bigPlay = html('button', { type: 'button', class: 'solid' }, icon(ICONS.play), WORDS.play)
  readonly audioOn = html('button', { type: 'button', class: 'solid sound' }, icon(ICONS.muted), WORDS.unmute)
  readonly play = button('play', WORDS.pause, ICONS.pause)
  readonly mute = button('mute', WORDS.mute, ICONS.loud)
  readonly volume = html('input', { type: 'range', min: '0', max: '1', step: '0.05', 'aria-label': WORDS.volume })
  readonly captions = button('captions', WORDS.captions, ICONS.captions)
  readonly settings = button('settings', WORDS.settings, ICONS.settings)
  readonly pip = button('pip', WORDS.pictureInPicture, ICONS.pictureInPicture)
  readonly fullscreen = button('fullscreen', WORDS.fullscreen, ICONS.fullscreen)
  readonly captionsSlot = html('slot', { name: 'captions' })
  readonly panel = html('div', { class: 'panel', role: 'group', 'aria-label': WORDS.settings, hidden: true })
  readonly figures = new Statistics()
  readonly statistics = new Sheet('statistics', WORDS.statistics, this.figures.list)
  readonly sharing = new Share()
  readonly share = new Sheet('share', WORDS.share, this.sharing.content)
  readonly help = new Sheet('help', WORDS.keyboard, keyTable())
  readonly again = html('button', { type: 'button', class: 'solid', hidden: true }, WORDS.again)
  readonly tokenField = html('input', {
    name: 'token',
    autocomplete: 'off',
    placeholder: WORDS.pasteToken,
    'aria-label': WORDS.token,
  })
  readonly tokenForm = html('form', { hidden: true }, this.tokenField, html('button', { class: 'solid' }, WORDS.watch))
  readonly frame: HTMLElement
  readonly brand: Brand
  readonly #title = html('p', { class: 'title' })
  readonly #text = html('p')
  readonly #detail = html('p', { class: 'detail' })
  readonly #message = html('div', { class: 'message', role: 'status' }, this.#title, this.#text)

  constructor(root: ShadowRoot) {
    root.adoptedStyleSheets = styleSheets
    const bar = html('div', { class: 'bar' }, this.play, this.mute, this.volume, html('span', { class: 'grow' }))
    bar.append(this.captions, this.settings, this.pip, this.fullscreen)
    const middle = html('div', { class: 'middle' }, this.#message, this.tokenForm, this.again, this.bigPlay)
    const captions = html('div', { class: 'captions-area' }, this.captionsSlot)
    this.frame = html('div', { class: 'frame', part: 'frame', tabindex: '0', role: 'region' })
    this.brand = new Brand(this.frame)
    const { heading, logo, poster } = this.brand
    const top = html('div', { class: 'top' }, this.badge, heading, this.chip)
    this.frame.append(this.video, poster, captions, logo)
    this.frame.append(middle, html('div', { class: 'bottom' }, this.#detail), top, this.audioOn, this.panel, bar)
    this.frame.append(...this.#sheets.map(({ element }) => element))
    root.append(this.frame)
  }

  get #sheets(): readonly Sheet[] {
    return [this.statistics, this.share, this.help]
  }

  /** Null: none is open. */
  get openSheet(): Sheet | null {
    return this.#sheets.find(({ isOpen }) => isOpen) ?? null
  }

  /** Opens a sheet in place of what is open, or closes it. The focus returns to the whole player. */
  toggle(sheet: Sheet): void {
    const isOpen = sheet.isOpen
    this.panel.hidden = true
    this.settings.setAttribute('aria-expanded', 'false')
    for (const each of this.#sheets) each.close()
    if (!isOpen) sheet.open(this.frame)
  }

  /** `detail`: the server's own words. */
  say(message: Message | null, detail = ''): void {
    setText(this.#title, message?.title ?? '')
    setText(this.#text, message?.text ?? '')
    setText(this.#detail, detail)
  }

  showPlaying(isPlaying: boolean): void {
    relabel(this.play, isPlaying ? WORDS.pause : WORDS.play, isPlaying ? ICONS.pause : ICONS.play)
  }

  showAudio({ muted, volume }: HTMLVideoElement): void {
    const isSilent = muted || volume === 0
    relabel(this.mute, isSilent ? WORDS.unmute : WORDS.mute, isSilent ? ICONS.muted : ICONS.loud)
    this.volume.value = String(muted ? 0 : volume)
  }

  openSettings(isOpen: boolean): void {
    if (isOpen) this.openSheet?.close()
    this.panel.hidden = !isOpen
    this.settings.setAttribute('aria-expanded', String(isOpen))
    const first = isOpen ? this.panel.querySelector<HTMLElement>('input, button') : null
    ;(first ?? this.settings).focus()
  }

  showFullscreen(isFull: boolean): void {
    const label = isFull ? WORDS.leaveFullscreen : WORDS.fullscreen
    relabel(this.fullscreen, label, isFull ? ICONS.leaveFullscreen : ICONS.fullscreen)
  }
}

function relabel(control: HTMLButtonElement, label: string, outline: string): void {
  if (control.title === label) return
  control.title = label
  control.setAttribute('aria-label', label)
  control.replaceChildren(icon(outline))
}
