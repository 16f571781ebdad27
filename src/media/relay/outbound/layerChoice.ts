import type { VideoFormat } from '../../codecs/codec.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import type { ViewerLayer, ViewerLayers } from '../../engine.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import { chooseLayer, type Layer, type Source } from '../forward/source.ts'

/** To read a keyframe copies it, and each viewer may ask for the layers at any time. */
const SIZES_MS = 5000

interface ReadSize {
  readonly atMs: number
  readonly format: VideoFormat | null
}

/** Of each track: all viewers of a source get one look. */
const sizes = new WeakMap<RtpTrack, ReadSize>()

/** The layer that a viewer has chosen by its RID. Null: the one that fits its bandwidth. */
export class LayerChoice {
  #rid: string | null = null

  /** Whether the bandwidth decides, because the viewer has chosen nothing or its layer has no packets now. */
  isAutomatic(layers: readonly Layer[]): boolean {
    return this.#chosen(layers) === undefined
  }

  /** The layer that the viewer gets. `available` and `now`: as `chooseLayer` takes them. */
  layerOf(layers: readonly Layer[], available: number | null, now: RtpTrack | null): Layer | undefined {
    return this.#chosen(layers) ?? chooseLayer(layers, available, now)
  }

  /** False: the source has no such layer, and nothing changes. */
  choose(rid: string | null, layers: readonly Layer[]): boolean {
    if (rid !== null && !layers.some((layer) => layer.rid === rid)) return false
    this.#rid = rid
    return true
  }

  /** The layers of a source, the largest first. `sent`: the track that the viewer gets now. */
  describe(source: Source | null, sent: RtpTrack | null, nowMs: number): ViewerLayers {
    const layers = source?.layers ?? []
    return {
      layers: layers.map((layer) => layerOf(layer, nowMs)).toSorted(bySize),
      chosen: this.#rid,
      sent: layers.find(({ track }) => track === sent)?.rid ?? null,
    }
  }

  #chosen(layers: readonly Layer[]): Layer | undefined {
    if (this.#rid === null) return undefined
    return layers.find(({ rid, meter }) => rid === this.#rid && meter.bitrate > 0)
  }
}

const bySize = (a: ViewerLayer, b: ViewerLayer): number => b.width - a.width || b.bitrate - a.bitrate

function layerOf({ rid, track, meter }: Layer, nowMs: number): ViewerLayer {
  const { width = 0, height = 0 } = formatOf(track, nowMs) ?? {}
  return { encodingId: rid, width, height, bitrate: meter.bitrate }
}

function formatOf(track: RtpTrack, nowMs: number): VideoFormat | null {
  const read = sizes.get(track)
  if (read !== undefined && nowMs - read.atMs < SIZES_MS) return read.format
  const { codec } = track.shape
  const payloads = isVideoCodec(codec) ? track.keyframe().map(({ payload }) => payload) : []
  const joined = isVideoCodec(codec) && payloads.length > 0 ? videoReader(codec).join(payloads) : null
  const format = joined?.format ?? read?.format ?? null
  sizes.set(track, { atMs: nowMs, format })
  return format
}
