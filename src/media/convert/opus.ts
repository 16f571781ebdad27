import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import {
  type AudioTrack,
  type Frame,
  type FrameSink,
  type FrameSource,
  type RestingSource,
  rtpAudioTrack,
  type TrackInfo,
  type VideoTrack,
} from '../frame.ts'
import { isInWebRtc } from '../codecs/inWebRtc.ts'
import { Hub } from '../hub.ts'
import { areSameTracks, isOfMain, withoutLayers } from '../layers.ts'
import { Reordering } from '../reordering.ts'
import { MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { Conversion } from './conversion.ts'
import { FlvReader } from '../rtmp/flvTags.ts'
import { RtmpIngest } from '../rtmp/ingest.ts'
import { InStep } from './inStep.ts'
import { MESSAGE } from '../rtmp/messages.ts'
import { OggOpusReader } from './ogg.ts'

export interface WebRtcMediaOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log: `accountId/streamName`. */
  readonly name: string
  /** False: drop video that is not H.264 without B-frames, with a warning, instead of encoding it again. */
  readonly transcodeBFrames: boolean
}

/** Its sources convert while they have subscribers. They end with the source, or when they are stopped. */
export interface WebRtcMedia {
  /** H.264 without B-frames, in all layers if nothing has to be encoded, and Opus. */
  readonly media: RestingSource
  /** Video of another codec as it is, and Opus. Without any tracks where there is no such video, or WebRTC cannot carry it. */
  readonly original: RestingSource
  /** Ends the conversion and its processes. Idempotent. */
  readonly stop: () => Promise<void>
}

export const OPUS = rtpAudioTrack('opus', 48_000)

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
  ...words('-map 0:v:0 -c:v libx264 -preset superfast -tune zerolatency -profile:v baseline -pix_fmt yuv420p'),
  ...words('-crf 23 -maxrate 4M -bufsize 4M -g 300 -force_key_frames source'),
  ...words('-fps_mode passthrough -enc_time_base 1:1000 -f flv -flvflags no_duration_filesize -flush_packets 1 pipe:1'),
]

const isH264 = ({ codec }: VideoTrack): boolean => codec === 'h264'

/** A form in which viewers get a source. */
interface Form {
  /** Whether video passes as it is, if it has no B-frames. */
  readonly passes: (video: VideoTrack) => boolean
  /** What becomes of other video: it is encoded, left out, or takes the audio with it. */
  readonly otherwise: 'transcoded' | 'dropped' | 'nothing'
}

const ORIGINAL: Form = { passes: (video) => !isH264(video) && isInWebRtc(video), otherwise: 'nothing' }

/** Converts media into what WebRTC carries. Opus passes as it is; other audio becomes Opus. */
export function webRtcMedia(source: FrameSource, options: WebRtcMediaOptions): WebRtcMedia {
  const forEveryone: Form = { passes: isH264, otherwise: options.transcodeBFrames ? 'transcoded' : 'dropped' }
  const media = restingMedia(source, options, forEveryone)
  const original = restingMedia(source, options, ORIGINAL)
  return {
    media: media.media,
    original: original.media,
    stop: async () => {
      await Promise.all([media.stop(), original.stop()])
    },
  }
}

function restingMedia(
  source: FrameSource,
  options: WebRtcMediaOptions,
  form: Form,
): { readonly media: RestingSource; readonly stop: () => Promise<void> } {
  const listeners = new Set<FrameSink>()
  let running: { converter: Converter; unsubscribe: () => void } | null = null
  let stopped = false

  const start = (): Converter => {
    const converter = new Converter(options, form)
    running = { converter, unsubscribe: source.subscribe(converter) }
    converter.isLive = true
    return converter
  }
  const stop = async (): Promise<void> => {
    const ending = running
    running = null
    ending?.unsubscribe()
    await ending?.converter.stop()
  }
  const subscribe = (sink: FrameSink): (() => void) => {
    if (stopped) sink.end()
    if (stopped) return () => undefined
    listeners.add(sink)
    const unsubscribe = (running?.converter ?? start()).media.subscribe(sink)
    return () => {
      unsubscribe()
      if (listeners.delete(sink) && listeners.size === 0) void stop()
    }
  }
  return {
    media: { subscribe, announce: (listener) => announce(source, form, listener) },
    stop: async () => {
      stopped = true
      await stop()
    },
  }
}

/** Calls `listener` with the tracks that a subscriber would get, without converting anything. */
function announce(source: FrameSource, form: Form, listener: (tracks: readonly TrackInfo[]) => void): () => void {
  const reordering = new Reordering()
  let all: readonly TrackInfo[] = []
  let video: VideoTrack | undefined
  let layers: readonly VideoTrack[] = []
  let [mayPass, isShown] = [false, false]
  // What viewers can do without is announced when frames have shown that it can be carried.
  const look = (frame?: Frame): boolean => {
    mayPass &&= frame === undefined || reordering.look(frame) !== 'yes'
    return form.otherwise === 'nothing' ? mayPass && reordering.isDecided : mayPass
  }
  const notify = (): void => {
    const shown = isShown || form.otherwise === 'transcoded' ? video : undefined
    const audio = (shown !== undefined || form.otherwise !== 'nothing') && all.some(({ kind }) => kind === 'audio')
    const sent = form.otherwise === 'transcoded' ? shown && asH264(shown) : shown
    const beside = sent === undefined || sent !== video ? [] : layers
    listener([...(sent === undefined ? [] : [sent]), ...beside, ...(audio ? [OPUS] : [])])
  }
  return source.subscribe({
    takesLayers: true,
    tracks: (tracks) => {
      all = tracks
      ;[video, ...layers] = tracks.filter((track) => track.kind === 'video')
      layers = layers.filter((track) => form.passes(track))
      mayPass = video !== undefined && form.passes(video)
      reordering.tracks(tracks)
      isShown = look()
      notify()
    },
    frame: (frame) => {
      if (form.otherwise === 'transcoded' || !mayPass || !isOfMain(frame, video?.layer)) return
      const before = isShown
      isShown = look(frame)
      if (isShown !== before) notify()
    },
    end: () => undefined,
  })
}

/** What it is encoded as; the configuration comes with the conversion. */
export const asH264 = (track: VideoTrack): VideoTrack =>
  isH264(track) ? track : { ...track, codec: 'h264', config: new Uint8Array() }

/** A layer beside the main one. */
interface OtherLayer {
  readonly track: VideoTrack
  readonly reordering: Reordering
}

const B_FRAMES = 'a publisher sends B-frames, which WebRTC cannot carry; set them to 0'
const B_FRAMES_OF_LAYER = 'a publisher sends B-frames in a layer, which viewers over WebRTC do not get; set them to 0'
const OTHER_CODEC = 'a publisher sends video that becomes H.264 for viewers over WebRTC without its codec'

type VideoMode = 'unknown' | 'copied' | Form['otherwise']

class Converter implements FrameSink {
  readonly takesLayers = true
  readonly media = new Hub()
  readonly #options: WebRtcMediaOptions
  readonly #form: Form
  readonly #audio: Conversion
  readonly #videoFrames: Conversion
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
  #videoMode: VideoMode = 'unknown'
  readonly #reordering = new Reordering()
  /** The first frame of the video, until the second one shows whether there are B-frames. */
  #first: Frame | null = null
  #stopped: Promise<void> | null = null

  constructor(options: WebRtcMediaOptions, form: Form) {
    this.#options = options
    this.#form = form
    const { name, clock } = options
    this.#step = new InStep(clock, (frame) => this.media.frame(frame))
    this.#audio = new Conversion({ ...options, name: `opus ${name}`, args: TO_OPUS, begin: () => this.#audioBegins() })
    this.#videoFrames = new Conversion({
      ...options,
      name: `video for WebRTC ${name}`,
      args: TO_H264,
      begin: () => this.#videoBegins(),
    })
  }

  tracks(tracks: readonly TrackInfo[]): void {
    const [video = null, ...layers] = tracks.filter((track) => track.kind === 'video')
    const main = withoutLayers(tracks)
    const isMainNew = !areSameTracks(this.#main, main)
    this.#main = main
    this.#video = video
    this.#layers = new Map(layers.filter(this.#form.passes).map((track) => [track.layer, this.#layerOf(track)]))
    if (isMainNew) this.#begin(tracks)
    else if (this.#videoMode === 'copied') this.#notifyTracks()
  }

  #layerOf(track: VideoTrack): OtherLayer {
    const reordering = this.#layers.get(track.layer)?.reordering ?? new Reordering()
    reordering.tracks([track])
    return { track, reordering }
  }

  #begin(tracks: readonly TrackInfo[]): void {
    this.#sentVideo = null
    this.#videoMode = 'unknown'
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
    else if (this.isLive && this.#sourceAudio[0]?.codec === 'opus') this.media.frame(frame)
    else if (this.isLive) this.#audio.frame(frame)
  }

  end(): void {
    void this.stop()
  }

  stop(): Promise<void> {
    this.#step.flush()
    this.media.end()
    this.#stopped ??= Promise.all([this.#audio.stop(), this.#videoFrames.stop()]).then(() => undefined)
    return this.#stopped
  }

  #videoFrame(frame: Frame): void {
    const found = this.#reordering.look(frame)
    if (found === 'undecided') {
      this.#first = frame
      return
    }
    const reordered = found === 'yes'
    if (this.#videoMode === 'unknown' || (reordered && this.#videoMode === 'copied')) this.#choose(reordered)
    if (this.#first !== null) this.#passVideo(this.#first)
    this.#first = null
    this.#passVideo(frame)
  }

  #layerFrame(frame: Frame): void {
    const layer = this.#layers.get(frame.layer)
    if (layer === undefined || this.#videoMode !== 'copied') return
    if (layer.reordering.look(frame) !== 'yes') return this.#step.video(frame)
    this.#options.log.warn({ name: this.#options.name, layer: frame.layer }, B_FRAMES_OF_LAYER)
    this.#layers = new Map([...this.#layers].filter(([name]) => name !== frame.layer))
    this.#notifyTracks()
  }

  #passVideo(frame: Frame): void {
    if (this.#videoMode === 'copied') this.#step.video(frame)
    if (this.#videoMode === 'transcoded') this.#videoFrames.frame(frame)
  }

  #choose(reordered: boolean): void {
    const { log, name } = this.#options
    const { passes, otherwise } = this.#form
    const isCarried = this.#video !== null && passes(this.#video)
    this.#videoMode = isCarried && !reordered ? 'copied' : otherwise
    this.#sentVideo = null
    const fields = { name, codec: this.#video?.codec, video: this.#videoMode }
    if (this.#videoMode !== 'copied' && otherwise !== 'nothing') log.warn(fields, isCarried ? B_FRAMES : OTHER_CODEC)
    if (this.#videoMode === 'transcoded' && this.#video) this.#videoFrames.track(this.#video)
    else this.#notifyTracks()
  }

  #notifyTracks(): void {
    const audio = this.#sourceAudio.length > 0 ? [OPUS] : []
    const isCopied = this.#videoMode === 'copied'
    const video = isCopied ? this.#video : this.#sentVideo
    const layers = isCopied ? [...this.#layers.values()].map(({ track }) => track) : []
    this.#step.flush()
    this.media.tracks([...(video === null ? [] : [video]), ...layers, ...audio])
  }

  #audioBegins(): (output: Buffer) => void {
    const reader = new OggOpusReader()
    return (output) => {
      for (const { timeUs, data } of reader.push(output) ?? []) {
        this.#step.audio({ kind: 'audio', timeUs, decodeTimeUs: timeUs, key: true, data })
      }
    }
  }

  #videoBegins(): (output: Buffer) => void {
    const reader = new FlvReader()
    const ingest = new RtmpIngest({
      tracks: ([video]) => {
        if (video?.kind !== 'video') return
        this.#sentVideo = video
        this.#notifyTracks()
      },
      frame: (frame) => this.#step.video(frame),
      end: () => undefined,
    })
    return (output) => {
      // The FLV stream also carries metadata, which is not media.
      for (const message of reader.push(output)) if (message.type === MESSAGE.video) ingest.take(message)
    }
  }
}
