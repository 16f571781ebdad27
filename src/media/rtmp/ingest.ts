import type { Clock } from '../../base/clock.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { VideoFormat } from '../codecs/codec.ts'
import { readFrame } from '../codecs/wholeFrame.ts'
import type { AudioTrack, FrameSink, TrackInfo, VideoTrack } from '../frame.ts'
import { parseAudio, parseVideo, withFourByteLengths } from './flv.ts'
import type { FlvPayload } from './flvPayload.ts'
import type { DeclaredBitrates } from './metadata.ts'
import { MESSAGE, type Message } from './messages.ts'
import { type TrackTime, TrackTimes } from '../trackTimes.ts'

/** What became of a message: it is in the feed, or belongs to it; or it is left out, and the rest goes on. */
export type Taken = 'media' | 'dropped'

/**
 * Audio before any video counts as audio only after this long, and is dropped until then; so it is before the keyframe that
 * describes the video. A change of tracks in the first moments would make every subscriber start twice.
 */
const ALONE_MS = 500
/** How long media before its configuration is dropped without a word, for publishers that send it late. */
const UNCONFIGURED_MS = 5000

export interface IngestOptions {
  /** Times are held against it. Null: the messages are from a process of ours. */
  readonly clock: Pick<Clock, 'monotonic'> | null
  /** Something is left out or mended; a sentence for the operator of the publisher, one of a few. */
  readonly leftOut: (what: string) => void
}

const TRUSTED: IngestOptions = { clock: null, leftOut: () => undefined }

/**
 * Turns the audio and video messages of one publication into tracks and frames. Reports tracks with the first frame that
 * needs them: a publisher sends both configurations before its first frame, so both tracks are reported together. Leaves out
 * what is damaged, and goes on with the next message.
 */
export class RtmpIngest {
  readonly #sink: FrameSink
  readonly #options: IngestOptions
  #video: VideoTrack | null = null
  #audio: AudioTrack | null = null
  /** Null: frames are no NAL units, and keyframes describe the video. */
  #lengthBytes: number | null = 4
  #tracksAreNew = false
  #audioSinceMs: number | null = null
  readonly #unconfiguredSinceMs = new Map<'video' | 'audio', number>()
  #hasBegun = false
  readonly #times: TrackTimes
  #declared: DeclaredBitrates = {}

  constructor(sink: FrameSink, options: IngestOptions = TRUSTED) {
    this.#sink = sink
    this.#options = options
    this.#times = new TrackTimes(options.clock)
  }

  /** For the tracks that come next: publishers send it before their configurations. */
  declare(bitrates: DeclaredBitrates): void {
    this.#declared = bitrates
  }

  /** Refused with a sentence for the person who publishes: the codec of a track that has not begun. */
  take({ type, timestamp, payload }: Message): Result<Taken, string> {
    const kind = type === MESSAGE.video ? 'video' : 'audio'
    const parsed = kind === 'video' ? parseVideo(payload) : parseAudio(payload)
    if (parsed.ok) return ok(this.#apply(parsed.value, timestamp))
    const { kind: problem, text } = parsed.error
    const hasTrack = (kind === 'video' ? this.#video : this.#audio) !== null
    return problem === 'unsupported' && !hasTrack ? err(text) : ok(this.#drop(text))
  }

  #drop(why: string): 'dropped' {
    this.#options.leftOut(why)
    return 'dropped'
  }

  #apply(media: FlvPayload, timestamp: number): Taken {
    switch (media.kind) {
      case 'track':
        this.#configure(media)
        return 'media'
      case 'video':
        return this.#videoFrame(media, this.#timeOf('video', timestamp))
      case 'audio':
        if (media.track) this.#configure({ kind: 'track', track: media.track })
        return this.#audioFrame(media, this.#timeOf('audio', timestamp))
      case 'ignored':
        return 'media'
    }
  }

  #timeOf(kind: 'video' | 'audio', timestamp: number): TrackTime {
    const time = this.#times.at(kind, timestamp)
    if (time.isJump) this.#drop('The clock of the publisher jumps; its times go on as its media arrives')
    return time
  }

  /** Ignores a repeated configuration: some publishers send it with every keyframe. */
  #configure(media: Extract<FlvPayload, { kind: 'track' }>): void {
    const { track } = media
    const before = track.kind === 'video' ? this.#video : this.#audio
    if (before !== null && isRepeated(before, media)) return
    this.#tracksAreNew = true
    if (track.kind === 'audio') this.#audio = track
    else this.#video = track
    if ('lengthBytes' in media) this.#lengthBytes = media.lengthBytes
  }

  #videoFrame(video: Extract<FlvPayload, { kind: 'video' }>, { timeMs, isJump }: TrackTime): Taken {
    const track = this.#video
    if (track === null) return this.#unconfigured('video', timeMs, 'Video came before its configuration')
    const written = this.#lengthBytes === null ? video.data : withFourByteLengths(video.data, this.#lengthBytes)
    const frame = written === null ? null : readFrame(track.codec, written, video.key)
    if (frame === null)
      return this.#drop(`A video frame is malformed: the lengths of its ${unitsOf(track)} do not add up`)
    if (frame.format !== null) this.#describe(track, frame.format)
    this.#notifyTracks()
    const { offsetUs = 0, compositionMs } = video
    const timeUs = Math.max(0, timeMs + compositionMs) * 1000 + offsetUs
    const { key, data } = frame
    const decodeTimeUs = timeMs * 1000 + offsetUs
    this.#sink.frame({ kind: 'video', timeUs, decodeTimeUs, key, data, ...(isJump && { isJump }) })
    return 'media'
  }

  #describe(track: VideoTrack, format: VideoFormat): void {
    const { width, height, config } = format
    if (width === track.width && height === track.height && Buffer.compare(config, track.config) === 0) return
    this.#video = { ...track, ...format }
    this.#tracksAreNew = true
  }

  #audioFrame(audio: Extract<FlvPayload, { kind: 'audio' }>, { timeMs, isJump }: TrackTime): Taken {
    if (this.#audio === null) return this.#unconfigured('audio', timeMs, 'Audio came before its configuration')
    this.#audioSinceMs ??= timeMs
    const mayGetCompany = !this.#hasBegun && (this.#video === null || this.#lengthBytes === null)
    if (mayGetCompany && Math.abs(timeMs - this.#audioSinceMs) < ALONE_MS) return 'media'
    this.#notifyTracks()
    const { data, offsetUs = 0 } = audio
    const timeUs = timeMs * 1000 + offsetUs
    this.#sink.frame({ kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data, ...(isJump && { isJump }) })
    return 'media'
  }

  #unconfigured(kind: 'video' | 'audio', timeMs: number, problem: string): 'dropped' {
    const sinceMs = this.#unconfiguredSinceMs.get(kind) ?? timeMs
    this.#unconfiguredSinceMs.set(kind, sinceMs)
    return Math.abs(timeMs - sinceMs) < UNCONFIGURED_MS ? 'dropped' : this.#drop(problem)
  }

  #notifyTracks(): void {
    if (!this.#tracksAreNew) return
    this.#tracksAreNew = false
    this.#hasBegun = true
    const tracks = [this.#video, this.#audio].filter((track) => track !== null)
    this.#sink.tracks(tracks.map((track) => withBitrate(track, this.#declared[track.kind])))
  }
}

/** Whether a configuration says nothing new. */
function isRepeated(before: TrackInfo, media: Extract<FlvPayload, { kind: 'track' }>): boolean {
  const { track } = media
  if (before.codec !== track.codec) return false
  if ('lengthBytes' in media && media.lengthBytes === null) return true
  const isAlike = Buffer.compare(before.config, track.config) === 0
  return isAlike && (before.kind === 'video' || track.kind === 'video' || before.channels === track.channels)
}

const unitsOf = ({ codec }: VideoTrack): string => (codec === 'av1' ? 'OBUs' : 'NAL units')

const withBitrate = (track: TrackInfo, declaredBitrate: number | undefined): TrackInfo =>
  declaredBitrate === undefined ? track : { ...track, declaredBitrate }
