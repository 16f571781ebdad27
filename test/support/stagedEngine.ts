import type { Frame, TrackInfo, VideoTrack } from '../../src/media/frame.ts'
import type { ListedAudio } from '../../src/media/hls/audioTracks.ts'
import type { ChannelRun, ChannelStream } from '../../src/media/hls/channelStream.ts'
import type { ChannelStreams } from '../../src/media/hls/channelStreams.ts'
import type { LadderSink } from '../../src/media/encoder/encodedLadder.ts'

const FPS = 25
/** Seconds of a group of pictures, and of a segment. */
const GOP = 2

export const RUNGS: ChannelRun['rungs'] = [
  { index: 0, id: 're_1', label: '720p', width: 1280, height: 720, bitrate: 2_500_000, frameRate: null },
  { index: 1, id: 're_2', label: '360p', width: 640, height: 360, bitrate: 700_000, frameRate: null },
]

const trackOf = ({ width, height }: { width: number; height: number }): VideoTrack => ({
  kind: 'video',
  codec: 'h264',
  width,
  height,
  config: Buffer.from([1, 0x64, 0, 0x1f]),
})

const AUDIO: TrackInfo = {
  kind: 'audio',
  codec: 'aac',
  sampleRate: 48_000,
  channels: 2,
  config: Buffer.from([0x11, 0x90]),
}

export interface StagedOptions {
  readonly rungs?: ChannelRun['rungs']
  readonly hasAudio?: boolean
  /** The audio tracks that viewers choose from. */
  readonly audio?: readonly ListedAudio[]
  /** Bytes of each frame of video. */
  readonly frameBytes?: number
  readonly run?: Partial<ChannelRun>
}

/** An engine whose process is the test: what it makes is in the same stream as that of a real one. */
export class StagedEngine {
  readonly stream: ChannelStream
  /** What further processes make. */
  run: StagedOptions['run']
  readonly #options: StagedOptions
  #sink: LadderSink | null = null
  #at = 0

  constructor(streams: ChannelStreams, engineId: string, options: StagedOptions = {}) {
    this.#options = options
    this.run = options.run
    const more = options.run?.audioOnly === undefined ? 0 : 1
    this.stream = streams.open(engineId, (options.rungs ?? RUNGS).length + more, false, options.audio)
  }

  /** A process begins; another one continues the stream. */
  begin(rungs = this.#options.rungs ?? RUNGS): this {
    const { hasAudio = false } = this.#options
    this.#sink = this.stream.begin({
      rungs,
      audio: 0,
      audioOnly: null,
      segment: () => undefined,
      playable: () => undefined,
      ...this.run,
    })
    this.#sink.discontinue('none')
    for (const [at, rung] of rungs.entries())
      this.#sink.rungs[at]?.tracks([trackOf(rung), ...(hasAudio ? [AUDIO] : [])])
    return this
  }

  /** The video of this rung. */
  videoOf(at: number): VideoTrack {
    const rung = (this.#options.rungs ?? RUNGS)[at]
    if (rung === undefined) throw new Error(`no rung ${at}`)
    return trackOf(rung)
  }

  /** Where the next frame is. */
  get seconds(): number {
    return this.#at / FPS
  }

  /** Takes what the process at hand makes. */
  get sink(): LadderSink {
    if (this.#sink === null) throw new Error('no process has begun')
    return this.#sink
  }

  /** Makes this number of whole segments, and one frame more, which ends the last of them. */
  play(segments: number): this {
    const frames = segments * GOP * FPS
    for (let at = 0; at < frames; at++) this.#frame((this.#at + at) / FPS, at % (GOP * FPS) === 0)
    this.#at += frames
    this.#frame(this.#at / FPS, true)
    return this
  }

  /** Makes a part of a segment after `play`: the frames of so many seconds. */
  playOn(seconds: number): this {
    const frames = Math.round(seconds * FPS)
    for (let at = 1; at <= frames; at++) this.#frame((this.#at + at) / FPS, false)
    return this
  }

  /** The process is gone. */
  end(): void {
    this.stream.end()
    this.#at += 10 * FPS
  }

  #frame(seconds: number, key: boolean): void {
    const timeUs = Math.round(seconds * 1e6)
    const { frameBytes = 100 } = this.#options
    const frame: Frame = { kind: 'video', key, timeUs, decodeTimeUs: timeUs, data: Buffer.alloc(frameBytes, 7) }
    this.stream.observe(frame)
    for (const rung of this.#sink?.rungs ?? []) rung.frame(frame)
  }
}
