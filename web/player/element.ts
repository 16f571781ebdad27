import { browser } from '../client/environment.ts'
import type { SluiceError } from '../client/index.ts'
import { isBlocked } from './autoplay.ts'
import { Controller, type PlayerState } from './controller.ts'
import { setText } from './dom.ts'
import { wireControls } from './controls.ts'
import { type MenuEntry, showMenu } from './menu.ts'
import { readAttribute, readSources, wantedBy } from './attributes.ts'
import type { Level } from './playback.ts'
import { Screen } from './screen.ts'
import { type Message, MESSAGES, WORDS } from './words.ts'

const FIGURES_MS = 2000
/** Without a movement of the pointer for this time, the controls go. */
const IDLE_MS = 3000

/** A change of these begins again. */
const RESTARTS = ['stream', 'src', 'token', 'server', 'mode', 'source']
const LOOKS = ['reports', 'ask-token', 'sources', 'muted', 'controls', 'heading', 'logo', 'color', 'poster', 'share']

/**
 * `<sluice-player stream="account/name" token="…">`. Its attributes and events: docs/guides/embed-the-player.md.
 */
export class SluicePlayer extends HTMLElement {
  static readonly observedAttributes: readonly string[] = [...RESTARTS, ...LOOKS]
  readonly #screen: Screen
  readonly #controller: Controller
  #wantsToPlay = false
  /** The viewer has entered a token, and gets the field back if that is refused. */
  #hasTyped = false
  #levels: readonly Level[] = []
  #level = -1
  #restarting = false
  #listening: AbortController | null = null
  #cancelFigures: () => void = () => undefined
  #cancelIdle: () => void = () => undefined

  constructor() {
    super()
    this.#screen = new Screen(this.attachShadow({ mode: 'open' }))
    this.#controller = new Controller(this.#screen.video, browser, {
      onState: (state, reason) => this.#changed(state, reason),
      onMedia: () => void this.#playMedia(),
      onLevels: (levels, chosen) => {
        this.#levels = levels
        this.#level = chosen
        this.#showSettings()
      },
    })
  }

  get state(): PlayerState {
    return this.#controller.state
  }

  /** Why the state is what it is; null: for no reason. */
  get reason(): SluiceError | null {
    return this.#controller.reason
  }

  /** `whep` or `hls`; null: nothing is played. */
  get delivery(): 'whep' | 'hls' | null {
    return this.#controller.delivery
  }

  /** The video element, for its volume and its events. */
  get video(): HTMLVideoElement {
    return this.#screen.video
  }

  /** Begins, or begins again at the live edge. */
  play(): void {
    this.#wantsToPlay = true
    const wanted = wantedBy(this)
    if (wanted !== null) this.#controller.start(wanted)
    this.#showState()
  }

  /** Ends the session. The last frame stays over HLS only. */
  pause(): void {
    this.#wantsToPlay = false
    this.#controller.stop()
    this.#showState()
  }

  connectedCallback(): void {
    if (this.#listening !== null) return
    this.#listening = new AbortController()
    this.#wire(this.#listening.signal)
    this.#screen.video.muted = this.hasAttribute('muted')
    this.#applyLook()
    if (this.getAttribute('autoplay') === 'off') this.#showState()
    else this.play()
  }

  /** A page that only moves the player does not interrupt it. */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected) return
      this.#listening?.abort()
      this.#listening = null
      this.#cancelFigures()
      this.#cancelIdle()
      this.pause()
    })
  }

  /** Several changes in a row restart once. */
  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || this.#listening === null) return
    if (name === 'muted') this.#screen.video.muted = now !== null
    this.#applyLook()
    if (name === 'ask-token') this.#showState()
    if (!RESTARTS.includes(name) || this.#restarting) return
    this.#restarting = true
    queueMicrotask(() => {
      this.#restarting = false
      const isRefused = this.state === 'refused'
      if (this.#listening !== null && (this.#wantsToPlay || isRefused)) this.play()
    })
  }

  #wire(signal: AbortSignal): void {
    const { frame, play, bigPlay, again, tokenForm, video, settings } = this.#screen
    const on = (target: EventTarget, event: string, listener: (event: Event) => void): void =>
      target.addEventListener(event, listener, { signal })
    for (const control of [bigPlay, again]) on(control, 'click', () => this.play())
    on(play, 'click', () => this.#togglePlay())
    on(settings, 'click', () => this.#controller.lookForLevels())
    on(tokenForm, 'submit', (event) => this.#useToken(event))
    for (const event of ['volumechange', 'loadedmetadata', 'resize']) on(video, event, () => this.#showMedia())
    let onlyShows = false
    on(frame, 'pointerdown', (event) => {
      onlyShows = frame.classList.contains('idle') && (event as PointerEvent).pointerType === 'touch'
    })
    // However long it takes, the first tap shows the controls, and presses none of them.
    const pressed = (event: MouseEvent): unknown => onlyShows && event.detail > 0 && event.stopPropagation()
    frame.addEventListener('click', pressed, { capture: true, signal })
    for (const event of ['pointermove', 'pointerdown', 'focusin', 'keydown']) on(frame, event, () => this.#wake())
    // The browser has kept the page as it was, and the client has ended its session when the page was left.
    on(globalThis, 'pageshow', (event) => {
      if ((event as PageTransitionEvent).persisted && this.#wantsToPlay) this.play()
    })
    wireControls(this, this.#screen, {
      signal,
      togglePlay: () => this.#togglePlay(),
      canSeek: () => this.delivery === 'hls',
    })
    this.#showMedia()
    this.#countFigures()
  }

  async #playMedia(): Promise<void> {
    if (await isBlocked(this.#screen.video)) this.pause()
  }

  #changed(state: PlayerState, reason: SluiceError | null): void {
    this.#showState()
    const { code, status, message: text } = reason ?? { code: null, status: 0, message: '' }
    const detail = { state, delivery: this.delivery, code, status, text }
    this.dispatchEvent(new CustomEvent('statechange', { detail }))
    if (state !== 'idle') this.dispatchEvent(new CustomEvent(state, { detail }))
  }

  #showState(): void {
    const wanted = wantedBy(this)
    const { state, reason } = this
    const { frame, bigPlay, again, tokenForm, tokenField, badge, play } = this.#screen
    const isIdle = state === 'idle' && wanted !== null
    frame.dataset['state'] = state
    this.#showPoster()
    bigPlay.hidden = !isIdle
    const asksToken = state === 'refused' && reason?.status === 401 && this.hasAttribute('ask-token')
    tokenForm.hidden = !asksToken
    again.hidden = state !== 'refused' || asksToken
    if (asksToken && this.#hasTyped) tokenField.select()
    if (state === 'refused') this.#hasTyped = false
    this.#screen.showPlaying(state !== 'idle' && state !== 'refused')
    play.disabled = wanted === null
    setText(badge, isIdle ? '' : state === 'playing' ? WORDS.live : WORDS.soon)
    this.#showMedia()
    this.#showSettings()
    this.#wake()
  }

  #showMedia(): void {
    const { state, reason } = this
    const { video, audioOn } = this.#screen
    const wanted = wantedBy(this)
    const isWrong = state === 'refused' && reason?.code === 'invalid_token' && wanted?.token
    const message =
      wanted === null ? MESSAGES.no_stream : isWrong ? MESSAGES.wrong_token : messageOf(state, reason, video)
    this.#screen.say(message, detailOf(state, reason))
    this.#screen.showAudio(video)
    audioOn.hidden = !(video.muted && state === 'playing' && !this.hasAttribute('muted'))
  }

  #applyLook(): void {
    const { frame, brand } = this.#screen
    brand.apply(this)
    this.#showPoster()
    frame.classList.toggle('bare', this.getAttribute('controls') === 'off')
    // Players of several sources of one stream need names of their own.
    const names = ['stream', 'src', 'source'].map((name) => readAttribute(this, name))
    frame.setAttribute('aria-label', WORDS.player(names.filter(Boolean).join(', ')))
    this.#showSettings()
  }

  /** Until there is video, and again after it was paused. */
  #showPoster(): void {
    const { brand } = this.#screen
    if (this.state === 'playing' || this.state === 'refused') brand.forgetPoster()
    else if (this.state !== 'interrupted') brand.loadPoster(this.getAttribute('poster'), wantedBy(this))
  }

  #showSettings(): void {
    const { panel } = this.#screen
    const mode = this.getAttribute('mode') ?? 'auto'
    const delivery = this.hasAttribute('src') ? [] : (['auto', 'whep', 'hls'] as const)
    const levels = this.#levels.filter(({ id }) => id >= 0).map(({ id, label }) => ({ value: String(id), label }))
    const groups = [
      {
        name: 'mode',
        title: WORDS.delivery,
        chosen: mode,
        options: delivery.map((value) => ({ value, label: WORDS[value] })),
      },
      {
        name: 'level',
        title: WORDS.quality,
        chosen: String(this.#level),
        options: this.#levels.length === 0 ? [] : [{ value: '-1', label: WORDS.auto }, ...levels],
        isFixed: true,
      },
      { name: 'source', title: WORDS.source, chosen: readAttribute(this, 'source'), options: readSources(this) },
    ]
    showMenu(panel, { groups, entries: this.#entries(), choose: (name, value) => this.#choose(name, value) })
  }

  #entries(): readonly MenuEntry[] {
    const screen = this.#screen
    const wanted = wantedBy(this)
    const share = (): void => {
      if (wanted !== null) screen.sharing.show(wanted)
      screen.toggle(screen.share)
    }
    const isShared = this.hasAttribute('share') && wanted?.stream
    return [
      ...(isShared ? [{ label: WORDS.share, open: share }] : []),
      { label: WORDS.statistics, open: () => screen.toggle(screen.statistics) },
      { label: WORDS.keyboard, open: () => screen.toggle(screen.help) },
    ]
  }

  #choose(name: string, value: string): void {
    this.#screen.openSettings(false)
    if (name !== 'level') return this.setAttribute(name, value)
    this.#level = Number(value)
    this.#controller.choose(this.#level)
  }

  #togglePlay(): void {
    if (this.state === 'idle' || this.state === 'refused') this.play()
    else this.pause()
  }

  #useToken(event: Event): void {
    event.preventDefault()
    const token = this.#screen.tokenField.value.trim()
    if (token === '') return
    this.#hasTyped = true
    if (token === this.getAttribute('token')) this.play()
    else this.setAttribute('token', token)
  }

  /** Shows the controls, and hides them again when nothing happens. */
  #wake(): void {
    const { frame, panel } = this.#screen
    frame.classList.remove('idle')
    this.#cancelIdle()
    if (this.#listening === null) return
    this.#cancelIdle = browser.later(() => {
      const isUsed = frame.querySelector(':focus-visible') !== null || !panel.hidden || this.#screen.openSheet !== null
      frame.classList.toggle('idle', this.state === 'playing' && !isUsed)
    }, IDLE_MS)
  }

  #countFigures(): void {
    this.#cancelFigures = browser.later(() => {
      this.#countFigures()
      void this.#showFigures()
    }, FIGURES_MS)
  }

  async #showFigures(): Promise<void> {
    const figures = this.state === 'playing' ? await this.#controller.figures() : null
    this.#screen.figures.show(figures, this.delivery)
    const { behindSeconds = null, height = 0, codecs = '' } = figures ?? {}
    const isSilent = height > 0 && /^[^,]+$/.test(codecs)
    this.#screen.frame.classList.toggle('silent', isSilent)
    const parts = [
      this.delivery === null ? '' : { whep: 'WebRTC', hls: 'HLS' }[this.delivery],
      height === 0 ? '' : `${height}p`,
      isSilent ? WORDS.noSound : '',
      behindSeconds === null ? '' : WORDS.behind(WORDS.number(behindSeconds, 1)),
    ]
    setText(this.#screen.chip, figures === null ? '' : parts.filter(Boolean).join(' · '))
  }
}

function messageOf(state: PlayerState, reason: SluiceError | null, video: HTMLVideoElement): Message | null {
  if (state === 'playing') return video.readyState > 0 && video.videoWidth === 0 ? MESSAGES.sound_only : null
  if (state === 'connecting') return reason ? MESSAGES[reason.code] : { title: WORDS.connecting, text: '' }
  if (state === 'interrupted') return { title: WORDS.reconnecting, text: '' }
  if (state === 'waiting')
    return MESSAGES[reason?.code === 'at_another_node' ? 'at_another_node' : 'stream_not_published']
  if (state === 'ended') return MESSAGES.ended
  return state === 'refused' && reason ? MESSAGES[reason.code] : null
}

/** The server's own words, for the people whom the viewer asks. */
function detailOf(state: PlayerState, reason: SluiceError | null): string {
  if (state !== 'refused' || reason === null) return ''
  return reason.status === 0 ? reason.message : `${reason.status} · ${reason.message}`
}
