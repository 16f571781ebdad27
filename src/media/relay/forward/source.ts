import type { RtpTrack } from './rtpTrack.ts'

/** One layer of simulcast, or all of the video where there is none. */
export interface Layer {
  /** The RID of simulcast (RFC 8851); '' without. */
  readonly rid: string
  readonly track: RtpTrack
  readonly meter: BitrateMeter
}

/** What a publisher or a feed adds to a room: audio, and video in one or several layers. */
export interface Source {
  readonly sessionId: string
  readonly sourceId: string | null
  /** Among the sources with this id; null or absent: the lowest. */
  readonly priority?: number | null
  readonly audio: RtpTrack | null
  readonly layers: readonly Layer[]
  /** Of H.264 `profile-level-id`, 6 hex digits; of HEVC `profile-id`; null for other codecs, and where it is not known. */
  readonly profile: string | null
}

/**
 * Seconds of which the middle one counts, the lesser of two. A pause of the publisher or of this process empties one and fills the
 * next, and the first one has what was cached as well.
 */
const SECONDS = 3

/** Bytes per time, over the last seconds. */
export class BitrateMeter {
  #bytes = 0
  #sinceMs: number
  /** Of the last seconds in which something came. */
  #latest: readonly number[] = []
  /** Bits per second; 0 during the first second, and when nothing arrives. */
  bitrate = 0

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  add(bytes: number): void {
    this.#bytes += bytes
  }

  /** Call it about every second. */
  tick(nowMs: number): void {
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs < 900) return
    const bitrate = Math.round((this.#bytes * 8000) / elapsedMs)
    if (bitrate > 0) this.#latest = [...this.#latest, bitrate].slice(-SECONDS)
    this.bitrate = bitrate === 0 ? 0 : lowerMiddleOf(this.#latest)
    this.#bytes = 0
    this.#sinceMs = nowMs
  }
}

const lowerMiddleOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)] ?? 0

/** Hysteresis: the current layer stays while it just fits, and a larger one must fit with room to spare. */
const FITS = 0.95
const ROOM_TO_GROW = 0.8

/** The most bits per second that a layer may have, of those `available`. */
export const mostFor = (available: number, isSent: boolean): number => available * (isSent ? FITS : ROOM_TO_GROW)

/**
 * The layer for a viewer that can receive `available` bits per second (null: not known): the largest that fits, else the
 * smallest with packets. If no layer has packets, as while the source pauses: the one that the viewer gets `now`, else the first.
 */
export function chooseLayer(
  layers: readonly Layer[],
  available: number | null,
  now: RtpTrack | null,
): Layer | undefined {
  const active = layers.filter(({ meter }) => meter.bitrate > 0).toSorted((a, b) => b.meter.bitrate - a.meter.bitrate)
  if (active.length === 0) return layers.find(({ track }) => track === now) ?? layers[0]
  if (available === null) return active[0]
  const fits = active.find(({ track, meter }) => meter.bitrate <= mostFor(available, track === now))
  return fits ?? active.at(-1)
}

/** The bitrate of the smallest active layer that is larger than `now`; null when there is none. */
export function nextBitrate(layers: readonly Layer[], now: Layer): number | null {
  const larger = layers.map(({ meter }) => meter.bitrate).filter((bitrate) => bitrate > now.meter.bitrate)
  return larger.length === 0 ? null : Math.min(...larger)
}
