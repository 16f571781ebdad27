import type { ViewerLayer, ViewerLayers } from '../../engine.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import { chooseLayer, type Layer, type Source } from '../forward/source.ts'
import { sizeOf } from '../forward/layerSize.ts'

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
  return { encodingId: rid, ...sizeOf(track, nowMs), bitrate: meter.bitrate }
}
