import type { Clock } from '../../base/clock.ts'
import type { VideoFormat } from '../codecs/codec.ts'
import type { AudioTrack, Frame, FrameSink, VideoTrack } from '../frame.ts'
import { TrackTimes } from '../trackTimes.ts'
import { AdtsReader } from './adts.ts'
import { TsDemuxer, type TsHandler, type TsProblem } from './demuxer.ts'
import { OPUS_TRACK, readOpusUnits } from './opus.ts'
import type { PesPacket } from './pes.ts'
import type { TsStream } from './program.ts'
import { LongTicks, TICKS_PER_MS, ticksBetween } from './ticks.ts'
import { readAccessUnit, type TsVideoCodec } from './video.ts'

/** How long the bytes of a publisher may hold no program with media. */
const UNKNOWN_MS = 2000
/** Audio waits so long for the first keyframe of the video that the program has. More than most encoders have between two. */
const ALONE_MS = 5000
/** The first video waits so long for the audio that the program has, of which muxers put several frames into one packet. */
const AUDIO_LATE_MS = 1000
/** More frames than video has in that time. Together they are no larger than one may be. */
const HELD_MAX = 240
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

const SUPPORTED = { video: 'H.264 or HEVC', audio: 'AAC or Opus' } as const

/**
 * Turns an MPEG transport stream into tracks and frames. Reports tracks with the first frame that needs them, audio only
 * after the video that the program has, and the first video with the audio that it has. Leaves out what is damaged, and goes on with what follows.
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
  #awaitsAudio = false
  /** The first video, while it waits for audio. */
  #held: Frame[] = []
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
    this.#awaitsAudio = chosen.some(({ kind }) => kind === 'audio')
    this.#adts.lose()
    return chosen
  }

  packet({ codec }: TsStream, packet: PesPacket): void {
    switch (codec) {
      case 'h264':
      case 'hevc':
        return this.#videoPacket(codec, packet)
      case 'aac':
        return this.#aacPacket(packet)
      case 'opus':
        return this.#opusPacket(packet)
      case null:
    }
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
    const [first, ...further] = streams.filter(({ codec }) => codec !== null)
    if (further.length > 0) {
      this.#options.leftOut(`The publisher sends several ${kind} tracks; only the first one is taken`)
    }
    const [other] = streams
    if (first !== undefined || other === undefined) return first === undefined ? [] : [first]
    const text = `${kind === 'video' ? 'Video' : 'Audio'} codec ${other.title} is not supported; send ${SUPPORTED[kind]}`
    if ((kind === 'video' ? this.#video : this.#audio) !== null) this.#options.leftOut(text)
    else this.#refusal ??= text
    return []
  }

  #videoPacket(codec: TsVideoCodec, { presentation, decode, isRandomAccess, data }: PesPacket): void {
    const unit = readAccessUnit(codec, data, isRandomAccess)
    const delay = presentation === null || decode === null ? null : ticksBetween(decode, presentation)
    const isLate = delay !== null && Math.abs(delay) > REORDERED_MAX_MS * TICKS_PER_MS
    if (unit === null || delay === null || isLate || decode === null) {
      this.#options.leftOut('A video frame is malformed: it has no time, or no NAL units')
      return
    }
    const time = this.#timeOf('video', decode)
    if (unit.format !== null) this.#configureVideo(codec, unit.format)
    if (this.#video?.codec !== codec || unit.data.length === 0) return
    const timeUs = Math.max(0, time.timeUs + toUs(delay))
    this.#emit('video', { ...time, timeUs }, time.timeUs, unit.key, unit.data)
  }

  /** Keeps the configuration that a keyframe repeats. */
  #configureVideo(codec: TsVideoCodec, format: VideoFormat): void {
    if (this.#video?.codec === codec && format.config.equals(this.#video.config)) return
    this.#video = { kind: 'video', codec, ...format }
    this.#tracksAreNew = true
  }

  #aacPacket({ data, presentation }: PesPacket): void {
    for (const { time, offsetTicks, config, sampleRate, channels, data: frame } of this.#adts.push(
      data,
      presentation,
    )) {
      if (time === null) continue
      this.#audioFrame({ kind: 'audio', codec: 'aac', sampleRate, channels, config }, time + offsetTicks, frame)
    }
  }

  #opusPacket({ data, presentation }: PesPacket): void {
    const units = presentation === null ? null : readOpusUnits(data)
    if (units === null || presentation === null) return this.problem('damaged')
    for (const unit of units) this.#audioFrame(OPUS_TRACK, presentation + unit.offsetTicks, unit.data)
  }

  #audioFrame(track: AudioTrack, ticks: number, data: Buffer): void {
    const mediaTime = this.#timeOf('audio', ticks)
    if (this.#audio?.codec !== track.codec || !Buffer.from(track.config).equals(this.#audio.config)) {
      this.#audio = track
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
    const frame = { kind, timeUs, decodeTimeUs, key, data, ...(isJump && { isJump }) }
    if (this.#waits(frame)) return void this.#held.push(frame)
    if (this.#tracksAreNew) this.#sink.tracks([this.#video, this.#audio].filter((track) => track !== null))
    this.#tracksAreNew = false
    this.#hasBegun = true
    for (const one of this.#held.splice(0)) this.#sink.frame(one)
    this.#sink.frame(frame)
  }

  /** Viewers who come before a broadcast has its audio would have none of it. */
  #waits({ kind, decodeTimeUs, data }: Frame): boolean {
    if (this.#hasBegun || kind === 'audio' || !this.#awaitsAudio || this.#audio !== null) return false
    const sinceUs = this.#held[0]?.decodeTimeUs ?? decodeTimeUs
    if (decodeTimeUs - sinceUs >= AUDIO_LATE_MS * 1000 || this.#held.length === HELD_MAX) return false
    return this.#held.reduce((sum, one) => sum + one.data.length, data.length) <= this.#options.maxFrameBytes
  }
}

const toUs = (ticks: number): number => Math.round((ticks * 1000) / TICKS_PER_MS)
