import { type ClientState, type SluiceError, WhepViewer } from '../client/index.ts'
import type { Figures, Playback, PlaybackState, PlaybackTarget } from './playback.ts'

/** A network that blocks WebRTC is no reason to wait longer: HLS is next. */
const CONNECT_TIMEOUT_MS = 5000
const LOOK_MS = 2000
/** Without media for this number of looks, the publisher is gone; Sluice keeps its viewers for some seconds. */
const LOOKS_WITHOUT_MEDIA = 2

const STATES: Readonly<Record<Exclude<ClientState, 'idle' | 'ended'>, PlaybackState>> = {
  connecting: 'connecting',
  waiting: 'waiting',
  live: 'playing',
  reconnecting: 'interrupted',
}

/** Plays over WHEP. */
export class WhepPlayback implements Playback {
  readonly delivery = 'whep'
  readonly #target: PlaybackTarget
  readonly #viewer: WhepViewer
  #figures: Figures | null = null
  #looksWithoutMedia = 0
  #stopLooking: () => void = () => undefined
  readonly #shown = (): void => this.#viewer.frameIsShown()

  constructor(target: PlaybackTarget) {
    const { url, token, sourceId, environment, video, reports, startedAs } = target
    this.#target = target
    this.#viewer = new WhepViewer({
      url,
      token,
      sourceId,
      environment,
      reports,
      startedAs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onState: (state, reason) => this.#changed(state, reason),
      onMedia(media) {
        video.srcObject = media
        target.onMedia()
      },
    })
  }

  get wantedAtMs(): number {
    return this.#viewer.wantedAtMs
  }

  start(): void {
    this.#target.video.addEventListener('loadeddata', this.#shown)
    void this.#viewer.start()
    this.#look()
  }

  stop(): void {
    this.#stopLooking()
    this.#target.video.removeEventListener('loadeddata', this.#shown)
    void this.#viewer.stop()
    this.#target.video.srcObject = null
  }

  choose(): void {}

  async figures(): Promise<Figures | null> {
    return this.#figures
  }

  #changed(state: ClientState, reason: SluiceError | null): void {
    if (state === 'ended') {
      this.#stopLooking()
      if (reason !== null) this.#target.onEnd(reason)
    } else if (state !== 'idle') this.#target.onState(STATES[state], reason)
  }

  /** Reads the figures again and again, and notices when no media arrives although the connection is up. */
  #look(): void {
    this.#stopLooking = this.#target.environment.later(() => {
      this.#look()
      void this.#read()
    }, LOOK_MS)
  }

  async #read(): Promise<void> {
    const stats = this.#viewer.state === 'live' ? await this.#viewer.stats() : null
    if (stats === null || this.#viewer.state !== 'live') {
      this.#looksWithoutMedia = 0
      return
    }
    this.#figures = { bitrate: stats.bitrate, height: stats.video?.height ?? 0, behindSeconds: null }
    const wasGone = this.#looksWithoutMedia >= LOOKS_WITHOUT_MEDIA
    this.#looksWithoutMedia = stats.bitrate === 0 ? this.#looksWithoutMedia + 1 : 0
    const isGone = this.#looksWithoutMedia >= LOOKS_WITHOUT_MEDIA
    if (isGone !== wasGone) this.#target.onState(isGone ? 'interrupted' : 'playing', null)
  }
}
