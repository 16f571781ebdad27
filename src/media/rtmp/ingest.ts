import { err, ok, type Result } from '../../base/result.ts'
import type { AudioTrack, FrameSink, TrackInfo, VideoTrack } from '../frame.ts'
import { type FlvPayload, parseAudio, parseVideo, withFourByteLengths } from './flv.ts'
import type { DeclaredBitrates } from './metadata.ts'
import { MESSAGE, type Message } from './messages.ts'

const DONE = ok(undefined)
/**
 * Audio before any video counts as audio only after this long, and is dropped until then: a change of tracks in the first
 * moments would make every subscriber start twice.
 */
const ALONE_MS = 500
/** How long media before its configuration is dropped, for encoders that send it late; then it is an error. */
const UNCONFIGURED_MS = 5000

/**
 * Turns the audio and video messages of one publication into tracks and frames. Reports tracks with the first frame that
 * needs them: an encoder sends both configurations before its first frame, so both tracks are reported together.
 */
export class RtmpIngest {
  readonly #sink: FrameSink
  #video: VideoTrack | null = null
  #audio: AudioTrack | null = null
  #lengthBytes = 4
  #tracksAreNew = false
  #audioSinceMs: number | null = null
  readonly #unconfiguredSinceMs = new Map<'video' | 'audio', number>()
  #hasBegun = false
  #timeline = new Timeline()
  #declared: DeclaredBitrates = {}

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** For the tracks that come next: encoders send it before their configurations. */
  declare(bitrates: DeclaredBitrates): void {
    this.#declared = bitrates
  }

  /** Refused with a sentence for the person at the encoder. */
  take({ type, timestamp, payload }: Message): Result<void, string> {
    const parsed = type === MESSAGE.video ? parseVideo(payload) : parseAudio(payload)
    if (!parsed.ok) return parsed
    return this.#apply(parsed.value, timestamp)
  }

  #apply(media: FlvPayload, timestamp: number): Result<void, string> {
    switch (media.kind) {
      case 'track':
        this.#configure(media)
        return DONE
      case 'video':
        return this.#videoFrame(media, this.#timeline.at(timestamp))
      case 'audio':
        return this.#audioFrame(media.data, this.#timeline.at(timestamp))
      case 'ignored':
        return DONE
    }
  }

  /** Ignores a repeated configuration: some encoders send it with every keyframe. */
  #configure(media: Extract<FlvPayload, { kind: 'track' }>): void {
    const { track } = media
    const before = track.kind === 'video' ? this.#video : this.#audio
    if (before !== null && Buffer.compare(before.config, track.config) === 0) return
    this.#tracksAreNew = true
    if (track.kind === 'audio') this.#audio = track
    else this.#video = track
    if ('lengthBytes' in media) this.#lengthBytes = media.lengthBytes
  }

  #videoFrame(video: Extract<FlvPayload, { kind: 'video' }>, atMs: number): Result<void, string> {
    if (this.#video === null) return this.#unconfigured('video', atMs, 'Video came before its configuration')
    const data = withFourByteLengths(video.data, this.#lengthBytes)
    if (data === null) return err('A video frame is malformed: the lengths of its NAL units do not add up')
    this.#notifyTracks()
    const timeUs = Math.max(0, atMs + video.compositionMs) * 1000
    this.#sink.frame({ kind: 'video', timeUs, decodeTimeUs: atMs * 1000, key: video.key, data })
    return DONE
  }

  #audioFrame(data: Buffer, atMs: number): Result<void, string> {
    if (this.#audio === null) return this.#unconfigured('audio', atMs, 'Audio came before its configuration')
    this.#audioSinceMs ??= atMs
    const mayGetCompany = this.#video === null && !this.#hasBegun
    if (mayGetCompany && Math.abs(atMs - this.#audioSinceMs) < ALONE_MS) return DONE
    this.#notifyTracks()
    this.#sink.frame({ kind: 'audio', timeUs: atMs * 1000, decodeTimeUs: atMs * 1000, key: true, data })
    return DONE
  }

  #unconfigured(kind: 'video' | 'audio', atMs: number, problem: string): Result<void, string> {
    const sinceMs = this.#unconfiguredSinceMs.get(kind) ?? atMs
    this.#unconfiguredSinceMs.set(kind, sinceMs)
    return Math.abs(atMs - sinceMs) < UNCONFIGURED_MS ? DONE : err(problem)
  }

  #notifyTracks(): void {
    if (!this.#tracksAreNew) return
    this.#tracksAreNew = false
    this.#hasBegun = true
    const tracks = [this.#video, this.#audio].filter((track) => track !== null)
    this.#sink.tracks(tracks.map((track) => withBitrate(track, this.#declared[track.kind])))
  }
}

const withBitrate = (track: TrackInfo, declaredBitrate: number | undefined): TrackInfo =>
  declaredBitrate === undefined ? track : { ...track, declaredBitrate }

/** Extends RTMP's 32-bit timestamps, milliseconds, which wrap after 49 days. Configurations have no timestamp. */
class Timeline {
  #last: number | null = null
  #time = 0

  at(timestamp: number): number {
    if (this.#last === null) this.#time = timestamp
    else this.#time += (timestamp - this.#last) | 0
    this.#last = timestamp
    return Math.max(0, this.#time)
  }
}
