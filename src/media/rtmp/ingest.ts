import { Allowance } from '../../base/allowance.ts'
import type { Clock } from '../../base/clock.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Said } from '../../core/notices.ts'
import { readFrame } from '../codecs/wholeFrame.ts'
import { type AudioTrack, type FrameSink, type TrackInfo, trackKey, type VideoTrack } from '../frame.ts'
import { MainLayer } from '../layers.ts'
import { CHANGES_TOO_OFTEN, TRACK_CHANGES } from '../publishing.ts'
import { clockProblemOf, REORDERED_MAX_MS, type TrackTime, TrackTimes } from '../trackTimes.ts'
import { parseAudio, parseVideo, withFourByteLengths } from './flv.ts'
import type { FlvPart, FlvPayload, FlvProblem } from './flvPayload.ts'
import { type DeclaredBitrates, MetadataReader } from './metadata.ts'
import { MESSAGE, type Message } from './messages.ts'
import { VideoLayers } from './videoLayers.ts'

/** What became of a message: it is in the feed, or belongs to it; or it is left out, and the rest goes on. */
export type Taken = 'media' | 'dropped'

/**
 * Audio before any video counts as audio only after this long, and is dropped until then: a change of tracks in the first moments
 * would make every subscriber start twice.
 */
const ALONE_MS = 500
/** The same before the first keyframe of video that was announced: more than most encoders have between two. The camera may be off. */
const KEYFRAME_MS = 10_000
/** How long media before its configuration is dropped without a word, for publishers that send it late. */
const UNCONFIGURED_MS = 5000

export interface IngestOptions {
  /** Times are held against it. */
  readonly clock: Pick<Clock, 'monotonic'>
  /** Something is left out or mended; a sentence for the operator of the publisher, one of a few. */
  readonly leftOut: (what: string) => void
  /** Of the audio tracks that are taken, in the order of their indexes; null, and the default: track 0. */
  readonly audioNumbers?: readonly (number | null)[] | undefined
}

const FURTHER_AUDIO = 'The publisher sends several audio tracks; only the first one is taken'
const OUT_OF_TIME = 'A video frame is malformed: it is shown more than ten seconds before or after it is decoded'
/** Of audio tracks that are not taken. */
const NOT_TAKEN = -1
/** What publishers say of bitrates is about this track. */
const DECLARED_TRACK = 0

/** Of the track that damaged or unknown media belongs to. */
interface TrackState {
  readonly isThere: boolean
  /** It would be the first of its kind. */
  readonly isFirst: boolean
}

/**
 * Turns the audio and video messages of one publication into tracks and frames. Reports tracks with the first frame that
 * needs them: a publisher sends all configurations before its first frame, so all tracks are reported together. Leaves out
 * what is damaged, and goes on with the next message. Video tracks are layers; a sink that takes one gets the largest.
 */
export class RtmpIngest {
  readonly #sink: FrameSink
  readonly #options: IngestOptions
  readonly #video = new VideoLayers()
  /** By their indexes. */
  readonly #audio = new Map<number, AudioTrack>()
  #tracksAreNew = false
  #audioSinceMs: number | null = null
  /** By the names of tracks. */
  readonly #unconfiguredSinceMs = new Map<string, number>()
  #hasBegun = false
  readonly #changes = new Allowance(TRACK_CHANGES)
  readonly #times: TrackTimes
  readonly #metadata = new MetadataReader()
  #declared: DeclaredBitrates = {}

  constructor(sink: FrameSink, options: IngestOptions) {
    this.#sink = sink.takesLayers === true ? sink : new MainLayer(sink)
    this.#options = options
    this.#times = new TrackTimes(options.clock)
  }

  /** Takes a message with data, which may describe the tracks that come next: publishers send it before their configurations. */
  declare(message: Message): void {
    this.#declared = this.#metadata.read(message, this.#options.clock.monotonic()) ?? this.#declared
  }

  /** Refused with what is said to the person who publishes: the codec of a track that has not begun, or of several. */
  take({ type, timestamp, payload }: Message): Result<Taken, Said> {
    const isVideo = type === MESSAGE.video
    let taken: Taken = 'dropped'
    for (const part of isVideo ? parseVideo(payload) : parseAudio(payload)) {
      const one = isVideo ? this.#takeVideo(part, timestamp) : this.#takeAudio(part, timestamp)
      if (!one.ok) return one
      if (one.value === 'media') taken = 'media'
    }
    return ok(taken)
  }

  #drop(why: string): 'dropped' {
    this.#options.leftOut(why)
    return 'dropped'
  }

  #takeVideo({ trackId, read }: FlvPart, timestamp: number): Result<Taken, Said> {
    if (!read.ok)
      return this.#leave(read.error, { isThere: this.#video.get(trackId) !== undefined, isFirst: this.#video.isEmpty })
    const media = read.value
    if (media.kind === 'video') return ok(this.#videoFrame(trackId, media, timestamp))
    if (media.kind !== 'track' || !('lengthBytes' in media)) return ok('media')
    const configured = this.#video.configure(trackId, media)
    if (!configured.ok) return this.#leave(configured.error, { isThere: false, isFirst: false })
    this.#tracksAreNew ||= configured.value
    return ok('media')
  }

  #takeAudio({ trackId, read }: FlvPart, timestamp: number): Result<Taken, Said> {
    const index = this.#audioIndexOf(trackId)
    if (index === NOT_TAKEN) return ok(this.#options.audioNumbers?.length ? 'dropped' : this.#drop(FURTHER_AUDIO))
    if (!read.ok) return this.#leave(read.error, { isThere: this.#audio.has(index), isFirst: this.#audio.size === 0 })
    const media = read.value
    const track = media.kind === 'audio' || media.kind === 'track' ? media.track : undefined
    if (track?.kind === 'audio') this.#configureAudio(index, track)
    return ok(media.kind === 'audio' ? this.#audioFrame(index, media, timestamp) : 'media')
  }

  /**
   * The codec of a track that is not there yet may refuse the publisher: that of the first of its kind at any time, that of
   * another one only before the publication has begun.
   */
  #leave({ kind, ...why }: FlvProblem, { isThere, isFirst }: TrackState): Result<Taken, Said> {
    const isRefused = kind === 'unsupported' && !isThere && (isFirst || !this.#hasBegun)
    return isRefused ? err(why) : ok(this.#drop(why.message))
  }

  #audioIndexOf(trackId: number): number {
    const { audioNumbers = [] } = this.#options
    if (audioNumbers.length === 0) return trackId === 0 ? 0 : NOT_TAKEN
    return audioNumbers.findIndex((number) => (number ?? 0) === trackId)
  }

  #timeOf(track: string, timestamp: number): TrackTime {
    const time = this.#times.at(track, timestamp)
    const problem = clockProblemOf(time.marks)
    if (problem !== null) this.#options.leftOut(problem)
    return time
  }

  /** Ignores a repeated configuration: some publishers send it with every keyframe. */
  #configureAudio(index: number, track: AudioTrack): void {
    const before = this.#audio.get(index)
    const isAlike = before?.codec === track.codec && before.channels === track.channels
    if (isAlike && Buffer.compare(before.config, track.config) === 0) return
    this.#audio.set(index, { ...track, ...(index > 0 && { audioIndex: index }) })
    this.#tracksAreNew = true
  }

  #videoFrame(trackId: number, video: Extract<FlvPayload, { kind: 'video' }>, timestamp: number): Taken {
    const name = `video ${trackId}`
    const { timeMs, marks } = this.#timeOf(name, timestamp)
    const layer = this.#video.get(trackId)
    if (layer === undefined) return this.#unconfigured(name, timeMs, 'Video came before its configuration')
    if (Math.abs(video.compositionMs) > REORDERED_MAX_MS) return this.#drop(OUT_OF_TIME)
    const written = layer.lengthBytes === null ? video.data : withFourByteLengths(video.data, layer.lengthBytes)
    const frame = written === null ? null : readFrame(layer.track.codec, written, video.key)
    if (frame === null)
      return this.#drop(`A video frame is malformed: the lengths of its ${unitsOf(layer.track)} do not add up`)
    const { key, data, format } = frame
    const isDescribed = format !== null && this.#video.describe(layer, format)
    const isListNew = this.#video.came(layer, key, timeMs)
    this.#tracksAreNew ||= isDescribed || isListNew
    // It begins with its first keyframe.
    if (!layer.isListed) return 'media'
    if (!this.#notifyTracks()) return this.#drop(CHANGES_TOO_OFTEN)
    const { offsetUs = 0, compositionMs } = video
    const timeUs = Math.max(0, timeMs + compositionMs) * 1000 + offsetUs
    const decodeTimeUs = timeMs * 1000 + offsetUs
    const named = this.#video.nameOf(layer)
    this.#sink.frame({ kind: 'video', ...named, timeUs, decodeTimeUs, key, data, ...marks })
    return 'media'
  }

  #audioFrame(index: number, audio: Extract<FlvPayload, { kind: 'audio' }>, timestamp: number): Taken {
    const of = { kind: 'audio', ...(index > 0 && { audioIndex: index }) } as const
    const { timeMs, marks } = this.#timeOf(trackKey(of), timestamp)
    if (!this.#audio.has(index)) return this.#unconfigured(trackKey(of), timeMs, 'Audio came before its configuration')
    this.#audioSinceMs ??= timeMs
    const aloneMs = this.#video.isEmpty ? ALONE_MS : KEYFRAME_MS
    if (!this.#hasBegun && Math.abs(timeMs - this.#audioSinceMs) < aloneMs) return 'media'
    if (!this.#notifyTracks()) return this.#drop(CHANGES_TOO_OFTEN)
    const { data, offsetUs = 0 } = audio
    const timeUs = timeMs * 1000 + offsetUs
    this.#sink.frame({ ...of, timeUs, decodeTimeUs: timeUs, key: true, data, ...marks })
    return 'media'
  }

  #unconfigured(track: string, timeMs: number, problem: string): 'dropped' {
    const sinceMs = this.#unconfiguredSinceMs.get(track) ?? timeMs
    this.#unconfiguredSinceMs.set(track, sinceMs)
    return Math.abs(timeMs - sinceMs) < UNCONFIGURED_MS ? 'dropped' : this.#drop(problem)
  }

  /** False: they have changed too often. */
  #notifyTracks(): boolean {
    if (!this.#tracksAreNew) return true
    if (!this.#changes.take(this.#options.clock.monotonic())) return false
    this.#tracksAreNew = false
    this.#hasBegun = true
    const audio = [...this.#audio].toSorted(([a], [b]) => a - b).map(([, track]) => track)
    this.#sink.tracks([...this.#video.list(), ...audio].map((track) => this.#withBitrate(track)))
    return true
  }

  #withBitrate(track: TrackInfo): TrackInfo {
    const isDeclared = track.kind === 'audio' ? track.audioIndex === undefined : isDeclaredLayer(track)
    const declaredBitrate = isDeclared ? this.#declared[track.kind] : undefined
    return declaredBitrate === undefined ? track : { ...track, declaredBitrate }
  }
}

const isDeclaredLayer = ({ layer }: VideoTrack): boolean => layer === undefined || Number(layer) === DECLARED_TRACK

const unitsOf = ({ codec }: VideoTrack): string => (codec === 'av1' ? 'OBUs' : 'NAL units')
