import { Allowance } from '../../base/allowance.ts'
import type { Clock } from '../../base/clock.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import { alternatives, unsupportedCodec } from '../codecs/codecs.ts'
import type { VideoFormat } from '../codecs/codec.ts'
import { type AudioTrack, type Frame, type FrameSink, trackKey, type VideoTrack } from '../frame.ts'
import { CHANGES_TOO_OFTEN, TRACK_CHANGES } from '../publishing.ts'
import { clockProblemOf, REORDERED_MAX_MS, type TrackTime, TrackTimes } from '../trackTimes.ts'
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
/** The first frames wait so long for the audio that the program has, of which muxers put several frames into one packet. */
const AUDIO_LATE_MS = 1000
/** More frames than a track has in that time. Together they are no larger than one may be. */
const HELD_MAX = 240
/** A picture that waited for less, or for none, has come when it leaves. */
const WAITED_MIN_MS = 100
/** From all tracks. As over RTMP: those that send a file at once send thousands. */
const FRAMES_OF_SECOND = 10_000

export interface TsIngestOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Of one frame of video. */
  readonly maxFrameBytes: number
  /** Something is left out or mended; a sentence for the operator of the publisher, one of a few. */
  readonly leftOut: (what: string) => void
  /** Of the audio tracks that are taken; null: the first of the program. None: that one alone. */
  readonly audioNumbers?: readonly (number | null)[] | undefined
}

/** What names the track of a frame. */
type Of = Pick<Frame, 'kind' | 'audioIndex'>

interface MediaTime extends Pick<TrackTime, 'marks'> {
  /** Of decoding. */
  readonly timeUs: number
}

const PROBLEMS: Readonly<Record<TsProblem, Said>> = {
  damaged: { message: 'The transport stream is damaged: packets are missing, or do not add up' },
  scrambled: say(coded('ts_scrambled')),
  programs: say(coded('ts_programs')),
}

const NO_PROGRAM = say(coded('ts_no_program'))
const NO_MEDIA = say(coded('ts_no_media'))
const NONE_LISTED = say(coded('ts_none_listed'))
const TOO_MANY = `More than ${FRAMES_OF_SECOND} frames come in a second; the others are left out`
const NO_LAYOUT = 'The AAC has a layout of channels that was not sent; send mono, stereo, 5.1 or 7.1'
const SUPPORTED = { video: ['H.264', 'HEVC'], audio: ['AAC', 'Opus'] } as const

/**
 * Turns an MPEG transport stream into tracks and frames. Reports tracks with the first frame that needs them, audio only
 * after the video that the program has, and the first frames with the audio that it has. Leaves out what is damaged, and goes on with what follows.
 * The audio tracks have the indexes of their PIDs in `audioNumbers`; one that the program has no more is no track any more.
 */
export class TsIngest implements TsHandler {
  /** PES packets of the tracks that are taken, so far. A stream whose encoder has stopped may go on without any. */
  packets = 0
  readonly #sink: FrameSink
  readonly #options: TsIngestOptions
  readonly #demuxer: TsDemuxer
  readonly #ticks = new LongTicks()
  readonly #times: TrackTimes
  #refusal: Said | null = null
  #missing: Said | null = NO_PROGRAM
  #beganAtMs: number | null = null
  #video: VideoTrack | null = null
  /** By their indexes. */
  readonly #audio = new Map<number, AudioTrack>()
  /** The chosen ones, by their PIDs. */
  readonly #indexes = new Map<number, number>()
  readonly #adts = new Map<number, AdtsReader>()
  #tracksAreNew = false
  readonly #changes = new Allowance(TRACK_CHANGES)
  #awaitsVideo = false
  /** The first frames, while they wait for audio. */
  #held: Frame[] = []
  #heldBytes = 0
  #audioSinceUs: number | null = null
  /** Whether frames came. */
  #hasBegun = false
  #second = { fromMs: Number.NEGATIVE_INFINITY, frames: 0 }

  constructor(sink: FrameSink, options: TsIngestOptions) {
    this.#sink = sink
    this.#options = options
    this.#times = new TrackTimes(options.clock)
    this.#demuxer = new TsDemuxer(this, options.maxFrameBytes)
  }

  /** Returns why the publisher is refused, for its operator; null: it goes on. */
  take(data: Buffer): Said | null {
    const nowMs = this.#options.clock.monotonic()
    this.#beganAtMs ??= nowMs
    this.#demuxer.push(data, nowMs)
    const isTooLate = !this.#hasBegun && nowMs - this.#beganAtMs > UNKNOWN_MS
    if (isTooLate && this.#missing !== null) this.#refusal ??= this.#missing
    return this.#refusal
  }

  /** The carrier has lost data. */
  gap(): void {
    this.#demuxer.gap()
  }

  /** Nothing more comes: the last frame leaves, if it is complete. */
  end(): void {
    this.#demuxer.end()
  }

  choose(streams: readonly TsStream[]): readonly TsStream[] {
    const video = this.#firstOf('video', streams)
    const chosen = [...video, ...this.#chooseAudio(streams)]
    this.#awaitsVideo = video.length > 0
    this.#missing = chosen.length > 0 ? null : streams.length > 0 ? NONE_LISTED : NO_MEDIA
    for (const [pid, reader] of this.#adts) {
      if (this.#indexes.has(pid)) reader.lose()
      else this.#adts.delete(pid)
    }
    return chosen
  }

  #chooseAudio(streams: readonly TsStream[]): readonly TsStream[] {
    const { audioNumbers = [] } = this.#options
    const indexed = (audioNumbers.length > 0 ? audioNumbers : [null]).map((pid) =>
      pid === null ? this.#firstOf('audio', streams) : this.#audioOf(pid, streams),
    )
    this.#indexes.clear()
    for (const [index, [stream]] of indexed.entries()) if (stream !== undefined) this.#indexes.set(stream.pid, index)
    if (audioNumbers.length > 1) this.#forgetAudioBut([...this.#indexes.values()])
    return indexed.flat()
  }

  #audioOf(pid: number, streams: readonly TsStream[]): readonly TsStream[] {
    const stream = streams.find((one) => one.kind === 'audio' && one.pid === pid)
    const { codec = null, title = '' } = stream ?? {}
    if (stream !== undefined && codec !== null) return [stream]
    if (title === '') this.#options.leftOut(`The audio track with PID ${pid} is none of the program`)
    else
      this.#options.leftOut(`The audio track with PID ${pid} has codec ${title}; send ${alternatives(SUPPORTED.audio)}`)
    return []
  }

  #forgetAudioBut(indexes: readonly number[]): void {
    for (const index of this.#audio.keys()) {
      if (indexes.includes(index)) continue
      this.#audio.delete(index)
      this.#tracksAreNew = true
    }
  }

  packet({ codec, pid }: TsStream, packet: PesPacket): void {
    this.packets += 1
    if (this.#isFlood()) return this.#options.leftOut(TOO_MANY)
    switch (codec) {
      case 'h264':
      case 'hevc':
        return this.#videoPacket(codec, packet)
      case 'aac':
        return this.#aacPacket(pid, packet)
      case 'opus':
        return this.#opusPacket(pid, packet)
      case null:
    }
  }

  /** A frame of a few bytes costs as much as others, and nothing slows down a publisher over UDP. */
  #isFlood(): boolean {
    const nowMs = this.#options.clock.monotonic()
    if (nowMs - this.#second.fromMs >= 1000) this.#second = { fromMs: nowMs, frames: 0 }
    this.#second.frames += 1
    return this.#second.frames > FRAMES_OF_SECOND
  }

  lost({ pid }: TsStream): void {
    this.#adts.get(pid)?.lose()
  }

  problem(problem: TsProblem): void {
    if (problem === 'damaged' || this.#hasBegun) this.#options.leftOut(PROBLEMS[problem].message)
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
    const why = say(unsupportedCodec(kind, other.title, SUPPORTED[kind]))
    if (kind === 'video' ? this.#video !== null : this.#audio.size > 0) this.#options.leftOut(why.message)
    else this.#refusal ??= why
    return []
  }

  #videoPacket(codec: TsVideoCodec, { presentation, decode, isRandomAccess, cameAtMs, data }: PesPacket): void {
    const unit = readAccessUnit(codec, data, isRandomAccess)
    const delay = presentation === null || decode === null ? null : ticksBetween(decode, presentation)
    const isLate = delay !== null && Math.abs(delay) > REORDERED_MAX_MS * TICKS_PER_MS
    if (unit === null || delay === null || isLate || decode === null) {
      this.#options.leftOut('A video frame is malformed: it has no time, or no NAL units')
      return
    }
    const { timeUs: decodeTimeUs, marks } = this.#timeOf({ kind: 'video' }, decode)
    if (unit.format !== null) this.#configureVideo(codec, unit.format)
    if (this.#video?.codec !== codec || unit.data.length === 0) return
    const timeUs = Math.max(0, decodeTimeUs + toUs(delay))
    const waitedMs = this.#options.clock.monotonic() - cameAtMs
    const waited = waitedMs >= WAITED_MIN_MS && { waitedMs }
    this.#emit({ kind: 'video', timeUs, decodeTimeUs, key: unit.key, data: unit.data, ...waited, ...marks })
  }

  /** Keeps the configuration that a keyframe repeats. */
  #configureVideo(codec: TsVideoCodec, format: VideoFormat): void {
    if (this.#video?.codec === codec && format.config.equals(this.#video.config)) return
    this.#video = { kind: 'video', codec, ...format }
    this.#tracksAreNew = true
  }

  #aacPacket(pid: number, { data, presentation }: PesPacket): void {
    const reader = this.#adts.get(pid) ?? new AdtsReader()
    this.#adts.set(pid, reader)
    for (const { time, offsetTicks, config, sampleRate, channels, data: frame } of reader.push(data, presentation)) {
      if (config === null) this.#options.leftOut(NO_LAYOUT)
      if (time === null || config === null) continue
      this.#audioFrame(pid, { kind: 'audio', codec: 'aac', sampleRate, channels, config }, time + offsetTicks, frame)
    }
  }

  #opusPacket(pid: number, { data, presentation }: PesPacket): void {
    const units = presentation === null ? null : readOpusUnits(data)
    if (units === null || presentation === null) return this.problem('damaged')
    for (const unit of units) this.#audioFrame(pid, OPUS_TRACK, presentation + unit.offsetTicks, unit.data)
  }

  #audioFrame(pid: number, format: AudioTrack, ticks: number, data: Buffer): void {
    this.#second.frames += 1
    const index = this.#indexes.get(pid) ?? 0
    const of: Of = { kind: 'audio', ...(index > 0 && { audioIndex: index }) }
    const { timeUs, marks } = this.#timeOf(of, ticks)
    const before = this.#audio.get(index)
    if (before?.codec !== format.codec || !Buffer.from(format.config).equals(before.config)) {
      this.#audio.set(index, { ...format, ...of, kind: 'audio' })
      this.#tracksAreNew = true
    }
    this.#audioSinceUs ??= timeUs
    const isEarly = this.#awaitsVideo && this.#video === null && !this.#hasBegun
    if (isEarly && Math.abs(timeUs - this.#audioSinceUs) < ALONE_MS * 1000) return
    this.#emit({ ...of, timeUs, decodeTimeUs: timeUs, key: true, data, ...marks })
  }

  #timeOf(of: Of, ticks: number): MediaTime {
    const long = this.#ticks.at(ticks)
    const wholeMs = Math.floor(long / TICKS_PER_MS)
    const { timeMs, marks } = this.#times.at(trackKey(of), wholeMs)
    const problem = clockProblemOf(marks)
    if (problem !== null) this.#options.leftOut(problem)
    return { timeUs: timeMs * 1000 + toUs(long - wholeMs * TICKS_PER_MS), marks }
  }

  #emit(frame: Frame): void {
    if (this.#waits(frame)) return void this.#held.push(frame)
    if (!this.#notifyTracks()) return this.#options.leftOut(CHANGES_TOO_OFTEN)
    this.#hasBegun = true
    for (const one of this.#held.splice(0)) this.#sink.frame(one)
    this.#sink.frame(frame)
  }

  /** False: they have changed too often. */
  #notifyTracks(): boolean {
    if (!this.#tracksAreNew) return true
    if (!this.#changes.take(this.#options.clock.monotonic())) return false
    this.#tracksAreNew = false
    this.#sink.tracks([...(this.#video === null ? [] : [this.#video]), ...this.#audioInOrder])
    return true
  }

  get #audioInOrder(): AudioTrack[] {
    return [...this.#audio].toSorted(([a], [b]) => a - b).map(([, track]) => track)
  }

  /** Viewers who come before a broadcast has its audio would have none of it. */
  #waits({ decodeTimeUs, data }: Frame): boolean {
    if (this.#hasBegun || this.#audio.size >= this.#indexes.size) return false
    const sinceUs = this.#held[0]?.decodeTimeUs ?? decodeTimeUs
    const isFull = this.#held.length >= HELD_MAX * this.#indexes.size
    if (isFull || decodeTimeUs - sinceUs >= AUDIO_LATE_MS * 1000) return false
    this.#heldBytes += data.length
    return this.#heldBytes <= this.#options.maxFrameBytes
  }
}

const toUs = (ticks: number): number => Math.round((ticks * 1000) / TICKS_PER_MS)
