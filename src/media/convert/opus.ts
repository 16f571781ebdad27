import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { AudioTrack, Frame, FrameSink, FrameSource, RestingSource, TrackInfo, VideoTrack } from '../frame.ts'
import { Hub } from '../hub.ts'
import { areSameTracks, isOfMain, withoutLayers } from '../layers.ts'
import { Reordering } from '../reordering.ts'
import { EVEN_SIDES, MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { Announcement } from './announcement.ts'
import { Conversion } from './conversion.ts'
import { type EncodingRoom, EncodingSeat, ENDLESS_ROOM } from './encodingRoom.ts'
import { AudioLateness, EvenAudio } from './evenAudio.ts'
import { type Carried, type Form, forEveryone, OPUS, ORIGINAL } from './form.ts'
import { FlvFrames, timeNear } from '../rtmp/flvFrames.ts'
import { InStep } from './inStep.ts'
import { OggOpusReader } from './ogg.ts'

export interface WebRtcMediaOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log: `accountId/streamName`. */
  readonly name: string
  /** For video that is not H.264 without B-frames. Null: it is dropped, with a warning, instead of being encoded. */
  readonly encodingRoom: EncodingRoom | null
}

/** Its sources convert while they have subscribers. They end with the source, or when they are stopped. */
export interface WebRtcMedia {
  /** H.264 without B-frames, in all layers if nothing has to be encoded, and Opus. */
  readonly media: RestingSource
  /** Video of another codec as it is, and Opus. Without any tracks where there is no such video, or WebRTC cannot carry it. */
  readonly original: RestingSource
  /** True: `media` has no tracks, because this machine has no room to encode the video. */
  readonly lacksRoom: boolean
  /** Ends the conversion and its processes. Idempotent. */
  readonly stop: () => Promise<void>
}

/** Keeps the timestamps of the source, which audio and video share. */
const INPUT = ['-copyts', ...MATROSKA_INPUT]

/**
 * `async=1` fills and trims where an encoder's timestamps, whole milliseconds, drift from its samples: with steps that
 * are not exactly 20 ms a browser conceals a third of the audio. One packet per page, because ffmpeg flushes whole pages.
 */
const TO_OPUS = [
  ...INPUT,
  ...words('-map 0:a:0 -af aresample=async=1 -c:a libopus -b:a 96k -ar 48000 -ac 2 -frame_duration 20'),
  ...words('-f ogg -page_duration 20000 -flush_packets 1 pipe:1'),
]

/** Baseline has no B-frames; keyframes stay where the source has them. */
const TO_H264 = [
  // Each further decoder thread adds one frame of latency.
  ...words('-threads 1'),
  ...INPUT,
  ...EVEN_SIDES,
  ...words('-map 0:v:0 -c:v libx264 -preset superfast -tune zerolatency -profile:v baseline -pix_fmt yuv420p'),
  ...words('-crf 23 -maxrate 4M -bufsize 4M -g 300 -force_key_frames source'),
  ...words('-fps_mode passthrough -enc_time_base 1:1000 -f flv -flvflags no_duration_filesize -flush_packets 1 pipe:1'),
]

/** Converts media into what WebRTC carries. Opus passes as it is; other audio becomes Opus. */
export function webRtcMedia(source: FrameSource, options: WebRtcMediaOptions): WebRtcMedia {
  const media = new RestingMedia(source, options, forEveryone(options.encodingRoom))
  const original = new RestingMedia(source, options, ORIGINAL)
  return {
    media,
    original,
    get lacksRoom() {
      return media.lacksRoom
    },
    stop: async () => {
      await Promise.all([media.stop(), original.stop()])
    },
  }
}

class RestingMedia implements RestingSource {
  readonly #source: FrameSource
  readonly #options: ConverterOptions
  #listeners = 0
  #running: { readonly converter: Converter; readonly unsubscribe: () => void } | null = null
  #announcement: Announcement | null = null
  #isStopped = false

  constructor(source: FrameSource, options: WebRtcMediaOptions, form: Form) {
    this.#source = source
    this.#options = { ...options, form, seat: new EncodingSeat(options.encodingRoom ?? ENDLESS_ROOM) }
  }

  get lacksRoom(): boolean {
    return (this.#running?.converter ?? this.#announcement)?.lacksRoom === true
  }

  announce(listener: (tracks: readonly TrackInfo[]) => void): () => void {
    this.#announcement = new Announcement(this.#options, listener)
    return this.#source.subscribe(this.#announcement)
  }

  subscribe(sink: FrameSink): () => void {
    if (this.#isStopped) sink.end()
    if (this.#isStopped) return () => undefined
    this.#listeners += 1
    const leave = (this.#running?.converter ?? this.#start()).media.subscribe(sink)
    let isIn = true
    return () => {
      leave()
      if (isIn) this.#listeners -= 1
      isIn = false
      // What the subscriber heard came with the media.
      this.#announcement?.again()
      if (this.#listeners === 0) void this.#rest()
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#rest()
  }

  #start(): Converter {
    const converter = new Converter(this.#options)
    this.#running = { converter, unsubscribe: this.#source.subscribe(converter) }
    converter.isLive = true
    return converter
  }

  async #rest(): Promise<void> {
    const ending = this.#running
    this.#running = null
    ending?.unsubscribe()
    await ending?.converter.stop()
  }
}

interface ConverterOptions extends WebRtcMediaOptions {
  readonly form: Form
  readonly seat: EncodingSeat
}

/** A layer beside the main one. */
interface OtherLayer {
  readonly track: VideoTrack
  readonly reordering: Reordering
}

const B_FRAMES = 'a publisher sends B-frames, which WebRTC cannot carry; set them to 0'
const B_FRAMES_OF_LAYER = 'a publisher sends B-frames in a layer, which viewers over WebRTC do not get; set them to 0'
const OTHER_CODEC = 'a publisher sends video that becomes H.264 for viewers over WebRTC without its codec'

class Converter implements FrameSink {
  readonly takesLayers = true
  readonly media: Hub
  readonly #options: ConverterOptions
  readonly #audio: Conversion
  readonly #videoFrames: Conversion
  readonly #sourceLateness: AudioLateness
  readonly #even: EvenAudio
  readonly #step: InStep
  /** False while the source replays its cached frames. Video begins with them; audio from then would only be late. */
  isLive = false
  #main: readonly TrackInfo[] = []
  /** Of the main layer. */
  #video: VideoTrack | null = null
  /** The video track of the conversion; null until it is known. */
  #sentVideo: VideoTrack | null = null
  /** By their names. Viewers get them beside video that is copied. */
  #layers: ReadonlyMap<string | undefined, OtherLayer> = new Map()
  #sourceAudio: readonly AudioTrack[] = []
  /** Null: it takes a frame to tell. */
  #carried: Carried | null = null
  /** When the latest frame that is encoded was due. */
  #encodedMs = 0
  #hasBFrames = false
  readonly #reordering = new Reordering()
  /** The first frame of the video, until the second one shows whether there are B-frames. */
  #first: Frame | null = null
  #stopped: Promise<void> | null = null

  constructor(options: ConverterOptions) {
    this.#options = options
    this.media = new Hub(options)
    const { name, clock } = options
    const source = new AudioLateness(clock)
    this.#sourceLateness = source
    this.#even = new EvenAudio(clock, source, (frame) => this.#step.audio(frame))
    this.#step = new InStep(clock, (frame) => this.media.frame(frame), { burstMs: () => source.burstMs })
    this.#audio = new Conversion({ ...options, name: `opus ${name}`, args: TO_OPUS, begin: () => this.#audioBegins() })
    this.#videoFrames = new Conversion({
      ...options,
      name: `video for WebRTC ${name}`,
      args: TO_H264,
      begin: () => this.#videoBegins(),
    })
  }

  get lacksRoom(): boolean {
    return this.#options.form.otherwise === 'encoded' && this.#carried === 'none'
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const [video = null, ...layers] = tracks.filter((track) => track.kind === 'video')
    const main = withoutLayers(tracks)
    const isMainNew = !areSameTracks(this.#main, main)
    this.#main = main
    this.#video = video
    this.#layers = new Map(layers.filter(this.#options.form.passes).map((track) => [track.layer, this.#layerOf(track)]))
    if (isMainNew) this.#begin(tracks)
    else if (this.#carried === 'copied') this.#notifyTracks()
  }

  #layerOf(track: VideoTrack): OtherLayer {
    const reordering = this.#layers.get(track.layer)?.reordering ?? new Reordering()
    reordering.tracks([track])
    return { track, reordering }
  }

  #begin(tracks: readonly TrackInfo[]): void {
    this.#options.seat.leave()
    this.#sentVideo = null
    this.#carried = null
    this.#hasBFrames = false
    this.#first = null
    this.#reordering.tracks(tracks)
    this.#beginAudio(tracks.filter((track) => track.kind === 'audio'))
    if (this.#video === null) this.#notifyTracks()
  }

  /** Its conversion goes on while it stays the same, whatever becomes of the video. */
  #beginAudio(tracks: readonly AudioTrack[]): void {
    const [audio] = tracks
    if (audio !== undefined && !areSameTracks(tracks, this.#sourceAudio)) this.#audio.track(audio)
    this.#sourceAudio = tracks
  }

  frame(frame: Frame): void {
    if (!isOfMain(frame, this.#video?.layer)) this.#layerFrame(frame)
    else if (frame.kind === 'video') this.#videoFrame(frame)
    else if (!this.isLive || this.#carried === 'none') return
    else if (this.#sourceAudio[0]?.codec === 'opus') this.media.frame(frame)
    else this.#audioFrame(frame)
  }

  end(): void {
    void this.stop()
  }

  stop(): Promise<void> {
    this.#options.seat.leave()
    this.#even.stop()
    this.#step.flush()
    this.media.end()
    this.#stopped ??= Promise.all([this.#audio.stop(), this.#videoFrames.stop()]).then(() => undefined)
    return this.#stopped
  }

  #audioFrame(frame: Frame): void {
    this.#sourceLateness.note(frame)
    this.#audio.frame(frame)
  }

  #videoFrame(frame: Frame): void {
    const found = this.#reordering.look(frame)
    if (found === 'undecided') {
      this.#first = frame
      return
    }
    this.#hasBFrames ||= found === 'yes'
    if (this.#mustChoose(frame)) this.#choose()
    if (this.#first !== null) this.#passVideo(this.#first)
    this.#first = null
    this.#passVideo(frame)
  }

  #layerFrame(frame: Frame): void {
    const layer = this.#layers.get(frame.layer)
    if (layer === undefined || this.#carried !== 'copied') return
    if (layer.reordering.look(frame) !== 'yes') return this.#step.video(frame)
    this.#options.log.warn({ name: this.#options.name, layer: frame.layer }, B_FRAMES_OF_LAYER)
    this.#layers = new Map([...this.#layers].filter(([name]) => name !== frame.layer))
    this.#notifyTracks()
  }

  #passVideo(frame: Frame): void {
    if (this.#carried === 'copied') this.#step.video(frame)
    if (this.#carried !== 'encoded') return
    this.#encodedMs = frame.decodeTimeUs / 1000
    this.#videoFrames.frame(frame)
  }

  #mustChoose({ key }: Frame): boolean {
    const mayGetRoom = this.#carried === 'none' && this.#options.form.otherwise === 'encoded'
    return this.#carried === null || (this.#carried === 'copied' && this.#hasBFrames) || (mayGetRoom && key)
  }

  #choose(): void {
    const carried = this.#choice()
    if (carried === this.#carried) return
    this.#carried = carried
    this.#sentVideo = null
    this.#warn(carried)
    if (carried === 'encoded' && this.#video) this.#videoFrames.track(this.#video)
    else this.#notifyTracks()
  }

  #choice(): Carried {
    const { form, seat } = this.#options
    const video = this.#video
    if (video !== null && form.passes(video) && !this.#hasBFrames) return 'copied'
    if (form.otherwise !== 'encoded') return form.otherwise
    return video !== null && seat.take(video) ? 'encoded' : 'none'
  }

  #warn(video: Carried): void {
    const { log, name } = this.#options
    if (video === 'copied' || video === 'none') return
    log.warn({ name, codec: this.#video?.codec, video }, this.#hasBFrames ? B_FRAMES : OTHER_CODEC)
  }

  #notifyTracks(): void {
    const audio = this.#sourceAudio.length > 0 && this.#carried !== 'none' ? [OPUS] : []
    const isCopied = this.#carried === 'copied'
    const video = isCopied ? this.#video : this.#sentVideo
    const layers = isCopied ? [...this.#layers.values()].map(({ track }) => track) : []
    this.#step.flush()
    this.media.tracks([...(video === null ? [] : [video]), ...layers, ...audio])
  }

  #audioBegins(): (output: Buffer) => void {
    const reader = new OggOpusReader()
    return (output) => {
      for (const { timeUs, data } of reader.push(output) ?? []) {
        this.#even.frame({ kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data })
      }
    }
  }

  #videoBegins(): (output: Buffer) => void {
    const out = {
      tracks: ([video]: readonly TrackInfo[]): void => {
        if (video?.kind !== 'video') return
        this.#sentVideo = video
        this.#notifyTracks()
      },
      frame: (frame: Frame): void => this.#step.video(frame),
    }
    const frames = new FlvFrames(['video'], out, (timestamp) => timeNear(timestamp, this.#encodedMs))
    return (output) => frames.push(output)
  }
}
