import type { Clock } from '../../base/clock.ts'
import { isRandomAccess, lengthPrefixed } from '../codecs/h264.ts'
import { videoFrameOf } from '../codecs/h264Config.ts'
import type { AudioTrack, FrameSink, VideoTrack } from '../frame.ts'
import { TrackTimes } from '../trackTimes.ts'
import { type AdtsFrame, AdtsReader } from './adts.ts'
import { splitAnnexB } from './annexB.ts'
import { TsDemuxer, type TsHandler, type TsProblem } from './demuxer.ts'
import type { PesPacket } from './pes.ts'
import type { TsStream } from './program.ts'
import { LongTicks, TICKS_PER_MS, ticksBetween } from './ticks.ts'

/** How long the bytes of a publisher may hold no program with media. */
const UNKNOWN_MS = 2000
/** Audio waits so long for the first keyframe of the video that the program has. More than most encoders have between two. */
const ALONE_MS = 5000
/** No encoder shows a picture so long after it was decoded. */
const REORDERED_MAX_MS = 10_000

export interface TsIngestOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Of one frame of video. */
  readonly maxFrameBytes: number
  /** Something is left out or mended; a sentence for the operator of the publisher, one of a few. */
  readonly leftOut: (what: string) => void
}

interface MediaTime {
  /** Of decoding. */
  readonly timeUs: number
  readonly isJump: boolean
}

const PROBLEMS: Readonly<Record<TsProblem, string>> = {
  damaged: 'The transport stream is damaged: packets are missing, or do not add up',
  scrambled: 'The transport stream is scrambled; send it without',
  programs: 'The transport stream has several programs; send one',
}

const SUPPORTED = { video: 'H.264', audio: 'AAC' } as const

/**
 * Turns an MPEG transport stream into tracks and frames: H.264, and AAC in ADTS. Reports tracks with the first frame that needs
 * them, and audio only after the video that the program has. Leaves out what is damaged, and goes on with what follows.
 */
export class TsIngest implements TsHandler {
  readonly #sink: FrameSink
  readonly #options: TsIngestOptions
  readonly #demuxer: TsDemuxer
  readonly #adts = new AdtsReader()
  readonly #ticks = new LongTicks()
  readonly #times: TrackTimes
  #refusal: string | null = null
  #missing: string | null = 'No MPEG transport stream with a program came'
  #beganAtMs: number | null = null
  #video: VideoTrack | null = null
  #audio: AudioTrack | null = null
  #tracksAreNew = false
  #awaitsVideo = false
  #audioSinceUs: number | null = null
  /** Whether frames came. */
  #hasBegun = false

  constructor(sink: FrameSink, options: TsIngestOptions) {
    this.#sink = sink
    this.#options = options
    this.#times = new TrackTimes(options.clock)
    this.#demuxer = new TsDemuxer(this, options.maxFrameBytes)
  }

  /** Returns why the publisher is refused, in a sentence for its operator; null: it goes on. */
  take(data: Buffer): string | null {
    const nowMs = this.#options.clock.monotonic()
    this.#beganAtMs ??= nowMs
    this.#demuxer.push(data)
    const isTooLate = !this.#hasBegun && nowMs - this.#beganAtMs > UNKNOWN_MS
    if (isTooLate && this.#missing !== null) this.#refusal ??= this.#missing
    return this.#refusal
  }

  /** The carrier has lost data. */
  gap(): void {
    this.#demuxer.gap()
  }

  choose(streams: readonly TsStream[]): readonly TsStream[] {
    const chosen = (['video', 'audio'] as const).flatMap((kind) => this.#firstOf(kind, streams))
    this.#missing = streams.length > 0 ? null : 'The program of the transport stream has no video or audio'
    this.#awaitsVideo = chosen.some(({ kind }) => kind === 'video')
    this.#adts.lose()
    return chosen
  }

  packet({ kind }: TsStream, packet: PesPacket): void {
    if (kind === 'video') this.#videoPacket(packet)
    else for (const frame of this.#adts.push(packet.data, packet.presentation)) this.#audioFrame(frame)
  }

  lost({ kind }: TsStream): void {
    if (kind === 'audio') this.#adts.lose()
  }

  problem(problem: TsProblem): void {
    if (problem === 'damaged' || this.#hasBegun) this.#options.leftOut(PROBLEMS[problem])
    else this.#refusal ??= PROBLEMS[problem]
  }

  /** Refuses a program that has only other codecs, unless the track has begun. */
  #firstOf(kind: 'video' | 'audio', all: readonly TsStream[]): readonly TsStream[] {
    const streams = all.filter((stream) => stream.kind === kind)
    const [first, ...further] = streams.filter(({ unsupported }) => unsupported === null)
    if (further.length > 0) {
      this.#options.leftOut(`The publisher sends several ${kind} tracks; only the first one is taken`)
    }
    const [other] = streams
    if (first !== undefined || other === undefined) return first === undefined ? [] : [first]
    const text = `${kind === 'video' ? 'Video' : 'Audio'} codec ${other.unsupported} is not supported; send ${SUPPORTED[kind]}`
    if ((kind === 'video' ? this.#video : this.#audio) !== null) this.#options.leftOut(text)
    else this.#refusal ??= text
    return []
  }

  #videoPacket({ presentation, decode, isRandomAccess: isMarked, data: bytes }: PesPacket): void {
    const nals = splitAnnexB(bytes)
    const delay = presentation === null || decode === null ? null : ticksBetween(decode, presentation)
    const isLate = delay !== null && Math.abs(delay) > REORDERED_MAX_MS * TICKS_PER_MS
    if (nals === null || nals.length === 0 || delay === null || isLate || decode === null) {
      this.#options.leftOut('A video frame is malformed: it has no time, or no NAL units of H.264')
      return
    }
    const time = this.#timeOf('video', decode)
    this.#configureVideo(nals)
    if (this.#video === null) return
    const data = lengthPrefixed(nals)
    const timeUs = Math.max(0, time.timeUs + toUs(delay))
    this.#emit('video', { ...time, timeUs }, time.timeUs, isRandomAccess(data, isMarked), data)
  }

  /** Keeps the configuration that a keyframe repeats. */
  #configureVideo(nals: readonly Buffer[]): void {
    const format = videoFrameOf(nals)
    if (format === null || (this.#video !== null && format.config.equals(this.#video.config))) return
    this.#video = { kind: 'video', codec: 'h264', ...format }
    this.#tracksAreNew = true
  }

  #audioFrame({ time, offsetTicks, config, sampleRate, channels, data }: AdtsFrame): void {
    if (time === null) return
    const mediaTime = this.#timeOf('audio', time + offsetTicks)
    if (this.#audio === null || !config.equals(this.#audio.config)) {
      this.#audio = { kind: 'audio', codec: 'aac', sampleRate, channels, config }
      this.#tracksAreNew = true
    }
    this.#audioSinceUs ??= mediaTime.timeUs
    const isEarly = this.#awaitsVideo && this.#video === null && !this.#hasBegun
    if (isEarly && Math.abs(mediaTime.timeUs - this.#audioSinceUs) < ALONE_MS * 1000) return
    this.#emit('audio', mediaTime, mediaTime.timeUs, true, data)
  }

  #timeOf(kind: 'video' | 'audio', ticks: number): MediaTime {
    const long = this.#ticks.at(ticks)
    const wholeMs = Math.floor(long / TICKS_PER_MS)
    const { timeMs, isJump } = this.#times.at(kind, wholeMs)
    if (isJump) this.#options.leftOut('The clock of the publisher jumps; its times go on as its media arrives')
    return { timeUs: timeMs * 1000 + toUs(long - wholeMs * TICKS_PER_MS), isJump }
  }

  #emit(
    kind: 'video' | 'audio',
    { timeUs, isJump }: MediaTime,
    decodeTimeUs: number,
    key: boolean,
    data: Buffer,
  ): void {
    if (this.#tracksAreNew) this.#sink.tracks([this.#video, this.#audio].filter((track) => track !== null))
    this.#tracksAreNew = false
    this.#hasBegun = true
    this.#sink.frame({ kind, timeUs, decodeTimeUs, key, data, ...(isJump && { isJump }) })
  }
}

const toUs = (ticks: number): number => Math.round((ticks * 1000) / TICKS_PER_MS)
