import { type AssembledFrame, FrameAssembler } from '../../codecs/assembler.ts'
import { isVideoCodec, type VideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import { FrameTimes } from './frameTimes.ts'
import { sizeOf } from './layerSize.ts'
import type { MediaPacket } from './packet.ts'
import type { Layer } from './source.ts'

/** Packagers need a keyframe this often to start a segment, and browsers send keyframes only on request. */
const KEYFRAME_MS = 1900
/** The first frame waits at most this long for layers that have not come, for less than audio waits for video. */
const WAIT_FOR_LAYERS_MS = 2000
/** A larger layer has to come for this long: with each change of size another part of a recording begins. */
const STEADY_MS = 10_000
/** A layer without packets for this long has stopped, if others come. */
const STOPPED_MS = 2000
const LOOK_MS = 1000
/** Of layers of one size a larger one has this many times the bitrate. */
const LARGER = 1.5

type VideoListener = (codec: VideoCodec, frame: AssembledFrame, wallMs: number, nowMs: number) => void

/** The frames of a publisher's video; of several layers, those of the largest that comes. Returns a function that stops it. */
export function tapVideo(layers: readonly Layer[], listener: VideoListener, nowMs: number): () => void {
  const codec = layers[0]?.track.shape.codec
  if (codec === undefined || !isVideoCodec(codec)) return () => undefined
  const video = new TappedVideo(layers, codec, listener, nowMs)
  const stops = layers.map((layer) => layer.track.listen((packet, atMs) => video.take(layer, packet, atMs)))
  return () => {
    for (const stop of stops) stop()
  }
}

/** The frames of one layer. */
class LayerFrames {
  readonly layer: Layer
  readonly times: FrameTimes
  readonly #assembler: FrameAssembler

  constructor(layer: Layer, codec: VideoCodec) {
    this.layer = layer
    this.times = new FrameTimes(layer.track)
    this.#assembler = new FrameAssembler(videoReader(codec))
  }

  take(packet: MediaPacket, nowMs: number): AssembledFrame[] {
    const { track } = this.layer
    const frames = this.#assembler.push(packet, nowMs)
    if (this.#assembler.needsKeyframe || track.keyAgeMs(nowMs) > KEYFRAME_MS) track.requestKeyframe(nowMs)
    return frames
  }
}

class TappedVideo {
  readonly #layers: readonly Layer[]
  readonly #codec: VideoCodec
  readonly #listener: VideoListener
  readonly #startedAtMs: number
  #present: LayerFrames | null = null
  /** Takes the place of the present one with its first frame, a keyframe. */
  #next: LayerFrames | null = null
  /** The largest that comes. */
  #largest: Layer | null = null
  #largestSinceMs = 0
  #latestMs: number
  #lookAtMs = 0

  constructor(layers: readonly Layer[], codec: VideoCodec, listener: VideoListener, nowMs: number) {
    this.#layers = layers
    this.#codec = codec
    this.#listener = listener
    this.#startedAtMs = nowMs
    this.#latestMs = nowMs
    this.#mayBegin(nowMs)
  }

  take(layer: Layer, packet: MediaPacket, nowMs: number): void {
    if (this.#present === null) this.#mayBegin(nowMs)
    else if (this.#layers.length > 1) this.#look(this.#present.layer, nowMs)
    if (layer === this.#next?.layer) this.#takeNext(this.#next, packet, nowMs)
    else if (layer === this.#present?.layer) this.#pass(this.#present, this.#present.take(packet, nowMs), nowMs, nowMs)
  }

  /** With what was sent since the latest keyframe, as soon as the sizes of all layers are known. */
  #mayBegin(nowMs: number): void {
    const isUnknown = ({ track }: Layer): boolean => sizeOf(track, nowMs).width === 0
    const isAlone = this.#layers.length === 1
    const isEarly = nowMs - this.#startedAtMs < WAIT_FOR_LAYERS_MS
    if (!isAlone && isEarly && this.#layers.some(isUnknown)) return
    const layer = isAlone ? this.#layers[0] : this.#largestNow(null, nowMs)
    if (layer === undefined) return
    const present = new LayerFrames(layer, this.#codec)
    this.#present = present
    for (const packet of layer.track.sinceKeyframe()) this.#pass(present, present.take(packet, nowMs), null, nowMs)
  }

  #takeNext(next: LayerFrames, packet: MediaPacket, nowMs: number): void {
    const frames = next.take(packet, nowMs)
    if (frames.length === 0) return
    if (this.#present !== null) next.times.follow(this.#present.times)
    this.#present = next
    this.#next = null
    this.#pass(next, frames, nowMs, nowMs)
  }

  /** @param arrivedAtMs null: they were cached */
  #pass({ times }: LayerFrames, frames: readonly AssembledFrame[], arrivedAtMs: number | null, nowMs: number): void {
    for (const frame of frames) this.#listener(this.#codec, frame, times.at(frame.timestamp, arrivedAtMs), nowMs)
  }

  #look(present: Layer, nowMs: number): void {
    // After a pause of all, each gets time to come again.
    if (nowMs - this.#latestMs > STOPPED_MS) this.#lookAtMs = nowMs + LOOK_MS
    this.#latestMs = nowMs
    if (nowMs < this.#lookAtMs) return
    this.#lookAtMs = nowMs + LOOK_MS
    const largest = this.#largestNow(present, nowMs) ?? present
    if (largest !== this.#largest) this.#largestSinceMs = nowMs
    this.#largest = largest
    const mayStay = comes(present, nowMs) && nowMs - this.#largestSinceMs < STEADY_MS
    if (largest === present || mayStay) this.#next = null
    else if (largest !== this.#next?.layer) this.#next = new LayerFrames(largest, this.#codec)
  }

  /** The present one, if it comes and none is larger. */
  #largestNow(present: Layer | null, nowMs: number): Layer | undefined {
    const coming = this.#layers.filter((layer) => comes(layer, nowMs))
    let largest = coming.find((layer) => layer === present) ?? coming[0]
    for (const layer of coming) if (largest !== undefined && isLarger(layer, largest, nowMs)) largest = layer
    return largest
  }
}

const comes = ({ track }: Layer, nowMs: number): boolean => track.last !== null && nowMs - track.latestAtMs < STOPPED_MS

function isLarger(layer: Layer, than: Layer, nowMs: number): boolean {
  const [area, least] = [areaOf(layer, nowMs), areaOf(than, nowMs)]
  return area > least || (area === least && layer.meter.bitrate > LARGER * than.meter.bitrate)
}

function areaOf({ track }: Layer, nowMs: number): number {
  const { width, height } = sizeOf(track, nowMs)
  return width * height
}
