import { type KeyframeVerdict, LONG_SECONDS, TOO_LONG_SECONDS } from '../../core/hls/keyframes.ts'
import { say } from '../../core/notices.ts'
import type { FrameSource, TrackInfo } from '../frame.ts'
import { exitSentence } from '../ffmpeg/exits.ts'
import { type Encoding, STOP_GRACE_MS } from './encoding.ts'
import type { Fed } from '../encoder/encoderWatch.ts'
import { type FedEncoder, type Parting, PushedInput, type PushedParts } from './pushed.ts'

/** How long a process may take to encode the rest of a source; the next one waits for it. */
const DRAIN_MS = 5000
/** Successive sources start at most one process in this time. */
const START_EVERY_MS = 1000

const GOP_TOO_LONG =
  `gop_too_long: the publisher sends a keyframe less often than every ${LONG_SECONDS} s, so segments of this engine begin ` +
  'without one, and players begin late: set a keyframe interval of 2 s'
const NO_KEYFRAMES = `The encoder sent no keyframe for ${TOO_LONG_SECONDS} s: set a keyframe interval of 2 s`

const FRAMES_FAR_APART = 'The publisher sends a frame of video less often than every 2 s, and segments need some'

/** Encodes what publishers push to an engine: one source at a time, the newest. */
export class PushTranscode {
  readonly #encoding: Encoding
  readonly #signal: AbortSignal
  #newest: FrameSource | null = null
  #leave = (): void => undefined
  #work: Promise<void> = Promise.resolve()
  /** Of the source at hand. */
  #keyframes: KeyframeVerdict | null = null
  /** Whether the video of the source at hand has its frames far apart. */
  #isSlow = false

  constructor(encoding: Encoding, signal: AbortSignal) {
    this.#encoding = encoding
    this.#signal = signal
  }

  /** A new source replaces the old one, whose process ends first, because its output is continued. */
  take(media: FrameSource): void {
    this.#newest = media
    this.#leave()
    this.#work = this.#work
      .then(() => this.#push(media))
      .catch((error: unknown) => this.#encoding.broken({ message: String(error) }))
  }

  /** Gives up the source. */
  leave(): void {
    this.#leave()
  }

  /** Resolves when the work for all sources so far is done. */
  get done(): Promise<void> {
    return this.#work
  }

  /**
   * Encodes a source; again with a new process when its tracks or the renditions change. The source replays its cached
   * keyframe for each process.
   */
  async #push(media: FrameSource): Promise<void> {
    let parting: Parting = 'changed'
    this.#keyframes = null
    this.#isSlow = false
    while (parting === 'changed' || parting === 'restart') {
      await this.#encoding.pauseUntilMs(this.#encoding.startedAtMs + START_EVERY_MS)
      if (media !== this.#newest || this.#signal.aborted) return
      parting = await this.#feed(media)
    }
  }

  async #feed(media: FrameSource): Promise<Parting> {
    const { promise, resolve } = Promise.withResolvers<Parting>()
    this.#leave = () => resolve('over')
    this.#encoding.restart = () => resolve('restart')
    const parts: PushedParts = {
      clock: this.#encoding.clock,
      begin: (tracks) => this.#begin(tracks, () => pushed.fed),
      observe: (frame) => this.#encoding.observe(frame),
      canPlay: (tracks) => this.#canPlay(tracks),
      keyframes: (verdict) => {
        if (this.#judge(verdict) === 'restart') resolve('restart')
      },
      slow: (isSlow) => {
        this.#isSlow = isSlow
        resolve('restart')
      },
      nothingToPlay: () => this.#encoding.nothingToPlay(),
      part: resolve,
    }
    const pushed = new PushedInput(parts, this.#isSlow)
    const unsubscribe = media.subscribe(pushed)
    const parting = await promise
    unsubscribe()
    // A process that is too slow could not encode its backlog in time, so it gets less time to drain.
    const exit = await this.#encoding.stop(parting === 'restart' ? STOP_GRACE_MS : DRAIN_MS)
    if (parting === 'over') this.#encoding.sourceIsGone()
    if (parting === 'failed' && exit) this.#encoding.broken(say(exitSentence(exit)))
    return parting
  }

  #judge(verdict: KeyframeVerdict): 'restart' | 'go on' {
    const isNew = this.#keyframes !== verdict
    this.#keyframes = verdict
    if (verdict === 'too_long') return 'restart'
    if (isNew) this.#encoding.log('warn', GOP_TOO_LONG, 'gop_too_long')
    return 'go on'
  }

  #refusesCopy(tracks: readonly TrackInfo[]): string | null {
    const codec = tracks.find(({ kind }) => kind === 'video')?.codec
    if (codec !== 'h264') return 'Only H.264 can be copied'
    if (this.#isSlow) return FRAMES_FAR_APART
    return this.#keyframes === 'too_long' ? NO_KEYFRAMES : null
  }

  #canPlay(tracks: readonly TrackInfo[]): boolean {
    return has(tracks, 'video') || (has(tracks, 'audio') && this.#encoding.makesAudio)
  }

  /** Starts a process for a source. Null: it could not be started, and the failure was reported. */
  #begin(tracks: readonly TrackInfo[], fed: () => Fed): FedEncoder | null {
    const audio = tracks.flatMap((track) => (track.kind === 'audio' ? [track.audioIndex ?? 0] : []))
    const hasVideo = has(tracks, 'video')
    const refusesCopy = this.#refusesCopy(tracks)
    const encoder = this.#encoding.run({ hasVideo, isSlow: this.#isSlow, audio, refusesCopy, fed })
    if (encoder === null) return null
    this.#encoding.log('info', `The source has ${tracks.map(({ kind, codec }) => `${codec} ${kind}`).join(' and ')}`)
    this.#encoding.sourceIsThere()
    return encoder
  }
}

const has = (tracks: readonly TrackInfo[], wanted: TrackInfo['kind']): boolean =>
  tracks.some(({ kind }) => kind === wanted)
