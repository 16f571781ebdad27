import type { RtpTrack } from './rtpTrack.ts'

/** One layer of simulcast, or all of the video where there is none. */
export interface Layer {
  /** The RID of simulcast (RFC 8851); '' without. */
  readonly rid: string
  readonly track: RtpTrack
  readonly meter: BitrateMeter
}

/** What somebody brings into a room: sound, and video in one or several layers. */
export interface Source {
  readonly sessionId: string
  readonly sourceId: string | null
  readonly audio: RtpTrack | null
  readonly layers: readonly Layer[]
}

/** How fast bytes come, over the last second or so. */
export class BitrateMeter {
  #bytes = 0
  #sinceMs: number
  /** Bits per second; 0 before the first second is over, and when nothing comes. */
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
    this.bitrate = Math.round((this.#bytes * 8000) / elapsedMs)
    this.#bytes = 0
    this.#sinceMs = nowMs
  }
}

/** A layer that fits with some room to spare is kept; a larger one must fit with more, so that nobody swings to and fro. */
const FITS = 0.95
const ROOM_TO_GROW = 0.8

/**
 * The layer for somebody who can receive `available` bits per second (null: not known): the largest that fits, else the
 * smallest that is alive. Without anything alive, the first.
 */
export function chooseLayer(
  layers: readonly Layer[],
  available: number | null,
  now: RtpTrack | null,
): Layer | undefined {
  const alive = layers.filter(({ meter }) => meter.bitrate > 0).toSorted((a, b) => b.meter.bitrate - a.meter.bitrate)
  if (available === null) return alive[0] ?? layers[0]
  const fits = alive.find(({ track, meter }) => meter.bitrate <= available * (track === now ? FITS : ROOM_TO_GROW))
  return fits ?? alive.at(-1) ?? layers[0]
}

/** The bit rate of the smallest layer that is alive and larger than `now`; null when there is none. */
export function nextBitrate(layers: readonly Layer[], now: Layer): number | null {
  const larger = layers.map(({ meter }) => meter.bitrate).filter((bitrate) => bitrate > now.meter.bitrate)
  return larger.length === 0 ? null : Math.min(...larger)
}
