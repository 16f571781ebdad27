import type Hls from 'hls.js/light'
import { delayMs } from '../client/backoff.ts'
import { refusalOf, SluiceError } from '../client/index.ts'
import { type Counted, QualityReporter } from '../client/quality.ts'
import { authorization } from './address.ts'
import { HlsFigures } from './hlsFigures.ts'
import { type Figures, kilobits, type Level, type Playback, type PlaybackTarget } from './playback.ts'

/** After this number of starts in a row without video, the browser cannot play the stream. */
const FAILED_STARTS_MAX = 3

/** In the names of errors of hls.js: the browser decodes none of the renditions, and another attempt would end alike. */
const NO_CODEC = /Codec/

/** How one run of the player ended. */
interface Run {
  readonly hasPlayed: boolean
  readonly problem: string
}

/** After a stall the player would stay behind: it plays faster, and skips if it is this far behind. */
const BEHIND_MOST_SECONDS = 6
const SETTINGS = {
  enableWorker: false,
  lowLatencyMode: true,
  maxLiveSyncPlaybackRate: 1.5,
  liveSyncDuration: 1.5,
  // Before the first picture it does not skip: a machine that needs longer would load and skip for ever.
  liveMaxLatencyDuration: Number.POSITIVE_INFINITY,
  backBufferLength: 30,
}

/**
 * Plays low-latency HLS: with hls.js where the browser has Media Source Extensions, else with the browser's own player.
 * It asks for the playlist itself first, because neither of them tells the server's reason for a refusal.
 */
export class HlsPlayback implements Playback {
  readonly delivery = 'hls'
  readonly #target: PlaybackTarget
  readonly #stopping = new AbortController()
  readonly #quality: QualityReporter
  readonly #figures = new HlsFigures()
  #hls: Hls | null = null
  /** Pictures of the video element that belong to sessions before. */
  #framesBefore = 0
  #wake: () => void = () => undefined
  /** Of the first rendition, for people. */
  #codecs = ''

  constructor(target: PlaybackTarget) {
    this.#target = target
    const { environment, reports, startedAs } = target
    this.#quality = new QualityReporter({ environment, isOn: reports, ...startedAs, count: () => this.#count() })
  }

  get wantedAtMs(): number {
    return this.#quality.wantedAtMs
  }

  start(): void {
    const { signal } = this.#stopping
    const { environment } = this.#target
    const releases = [environment.onNetworkChange(() => this.#wake()), environment.onLeave(() => this.#left())]
    signal.addEventListener('abort', () => {
      for (const release of releases) release()
      this.#wake()
      this.#left()
    })
    void this.#run(signal)
  }

  stop(): void {
    this.#stopping.abort()
  }

  choose(level: number): void {
    if (this.#hls) this.#hls.currentLevel = level
  }

  /** The playlist has told them. */
  lookForLevels(): void {}

  async figures(): Promise<Figures | null> {
    return this.#target.video.readyState === 0 ? null : this.#figures.read(this.#target.video, this.#hls)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { onState, onEnd } = this.#target
    let [failures, failedStarts, hasPlayed] = [0, 0, false]
    onState('connecting', null)
    while (!signal.aborted) {
      this.#quality.attempt()
      const refused = await this.#ask(signal)
      if (signal.aborted) return
      if (refused === null) {
        const run = await this.#play(signal)
        if (signal.aborted) return
        if (NO_CODEC.test(run.problem)) return onEnd(new SluiceError('codec_not_supported', this.#codecs))
        this.#quality.closed(run.hasPlayed ? 'connection_lost' : 'unexpected_answer', false)
        hasPlayed ||= run.hasPlayed
        failedStarts = run.hasPlayed ? 0 : failedStarts + 1
        failures = run.hasPlayed ? 0 : failures + 1
        if (failedStarts >= FAILED_STARTS_MAX) return onEnd(new SluiceError('unexpected_answer', run.problem))
      } else {
        if (!refused.isTemporary) return onEnd(refused)
        this.#quality.closed(refused.code, false)
        const isWaiting = refused.code === 'stream_not_published' || refused.code === 'at_another_node'
        onState(isWaiting ? 'waiting' : hasPlayed ? 'interrupted' : 'connecting', refused)
      }
      await this.#pause(delayMs(failures++, refused ?? LOST, this.#target.environment.random()))
    }
  }

  /** The server's refusal of the playlist; null: it is there. */
  async #ask(signal: AbortSignal): Promise<SluiceError | null> {
    const { environment, url, token } = this.#target
    try {
      const response = await environment.fetch(url, { headers: authorization(token), signal })
      const text = await response.text()
      this.#codecs = /CODECS="([^"]+)/.exec(text)?.[1] ?? ''
      return response.ok ? null : refusalOf(response.status, text, response.headers.get('Retry-After'))
    } catch {
      return new SluiceError('no_answer', 'The server did not answer')
    }
  }

  /** Resolves when the media is over, has failed, or is stopped. */
  async #play(signal: AbortSignal): Promise<Run> {
    const hasMse = 'MediaSource' in globalThis || 'ManagedMediaSource' in globalThis
    const library = hasMse ? await this.#load().catch(() => null) : null
    if (signal.aborted || (hasMse && library === null)) return { hasPlayed: false, problem: 'hls.js did not load' }
    const over = new AbortController()
    let [hasPlayed, problem] = [false, '']
    const end = (why: string): void => {
      problem ||= why
      over.abort()
    }
    this.#listen(over.signal, end, () => (hasPlayed = true))
    signal.addEventListener('abort', () => over.abort(), { signal: over.signal })
    const release = library?.default.isSupported() ? this.#withHlsJs(library.default, end) : this.#native()
    await new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()))
    release()
    return { hasPlayed, problem }
  }

  /** The light build cannot change to another engine of a channel. */
  #load(): Promise<{ readonly default: typeof Hls }> {
    return this.#target.hasVariants ? import('hls.js') : import('hls.js/light')
  }

  #listen(signal: AbortSignal, end: (why: string) => void, played: () => void): void {
    const { video, onState } = this.#target
    const playing = (): void => {
      played()
      this.#quality.frame()
      onState('playing', null)
    }
    video.addEventListener('loadeddata', () => this.#quality.frame(), { signal })
    video.addEventListener('waiting', () => this.#quality.stall(), { signal })
    video.addEventListener('playing', playing, { signal })
    video.addEventListener('ended', () => end('ended'), { signal })
    video.addEventListener('error', () => end(video.error?.message || 'The video failed'), { signal })
  }

  #withHlsJs(Library: typeof Hls, end: (why: string) => void): () => void {
    const { url, token, video, onMedia, environment } = this.#target
    const beganMs = environment.now()
    const xhrSetup = (xhr: XMLHttpRequest): void => {
      if (token !== '') xhr.setRequestHeader('Authorization', `Bearer ${token}`)
    }
    const hls = new Library({ ...SETTINGS, xhrSetup })
    this.#hls = hls
    hls.on(Library.Events.MANIFEST_PARSED, () => {
      this.#tellLevels()
      this.#reportOf(hls)
      onMedia()
    })
    hls.on(Library.Events.ERROR, (_event, { fatal, details }) => fatal && end(details))
    this.#beginAfterOutage(Library, hls)
    const skip = (): void => {
      hls.config.liveMaxLatencyDuration = Math.max(BEHIND_MOST_SECONDS, (environment.now() - beganMs) / 500)
    }
    video.addEventListener('playing', skip, { once: true })
    hls.loadSource(url)
    hls.attachMedia(video)
    return () => {
      hls.destroy()
      this.#hls = null
      this.#target.onLevels([], -1)
    }
  }

  /** After a restart of the server hls.js looks for the segment that follows its last one, which is gone. */
  #beginAfterOutage({ Events, ErrorDetails }: typeof Hls, hls: Hls): void {
    let wasAway = false
    hls.on(Events.ERROR, (_event, { details }) => {
      wasAway ||= details === ErrorDetails.LEVEL_LOAD_ERROR
    })
    hls.on(Events.LEVEL_UPDATED, () => {
      if (!wasAway) return
      wasAway = false
      hls.stopLoad()
      hls.startLoad()
    })
  }

  /** Reports go beside the playlists of the session's ticket. Playlists of others have none. */
  #reportOf({ levels: [first] }: Hls): void {
    const [, report] = /^(.*\/hls\/~[^/]+\/[^/]+\/)[^/]+\/[^/]+$/.exec(first?.uri ?? '') ?? []
    if (report === undefined) return
    this.#framesBefore = 0
    this.#framesBefore = this.#count().frames
    this.#quality.session(`${report}report`)
  }

  #left(): void {
    this.#quality.closed('stopped', true)
  }

  #count(): Counted {
    const { video } = this.#target
    const { totalVideoFrames, droppedVideoFrames } = video.getVideoPlaybackQuality()
    const behindSeconds = this.#hls?.latency ?? 0
    return {
      frames: Math.max(0, totalVideoFrames - this.#framesBefore),
      dropped: droppedVideoFrames,
      height: video.videoHeight,
      behindMs: behindSeconds > 0 ? 1000 * behindSeconds : null,
      stalls: 0,
      stalledMs: 0,
    }
  }

  #tellLevels(): void {
    const levels = this.#hls?.levels ?? []
    const named = levels.map(({ height, bitrate }, id): Level => {
      return { id, label: height ? `${height}p` : kilobits(bitrate) }
    })
    this.#target.onLevels(named.length > 1 ? named.toReversed() : [], -1)
  }

  /** Players without Media Source Extensions send no headers. */
  #native(): () => void {
    const { url, token, video, onMedia, onLevels } = this.#target
    const full = new URL(url)
    if (token !== '') full.searchParams.set('auth', token)
    video.src = full.href
    onMedia()
    onLevels([{ id: -1, label: '' }], -1)
    return () => {
      onLevels([], -1)
      video.removeAttribute('src')
      video.load()
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#target.environment.later(resolve, ms)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }
}

const LOST = new SluiceError('connection_lost', 'The media is over')
