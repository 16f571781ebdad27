import { isVideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import type { RtpTrack } from './rtpTrack.ts'

/** Pixels; 0: not known. */
export interface LayerSize {
  readonly width: number
  readonly height: number
}

/** To read a keyframe copies it, and each viewer may ask for the layers at any time. */
const SIZES_MS = 5000
/** A size is not known before the last packet of its keyframe; a publisher may send keyframes that never say one. */
const UNKNOWN_MS = 50
const UNKNOWN: LayerSize = { width: 0, height: 0 }

/** Of each track: all viewers of a source get one look. */
const sizes = new WeakMap<RtpTrack, { readonly atMs: number; readonly size: LayerSize }>()

/** The size of the pictures of a track, from its latest keyframe. */
export function sizeOf(track: RtpTrack, nowMs: number): LayerSize {
  const { size: before = UNKNOWN, atMs = Number.NEGATIVE_INFINITY } = sizes.get(track) ?? {}
  const { codec } = track.shape
  if (nowMs - atMs < (before.width > 0 ? SIZES_MS : UNKNOWN_MS) || !isVideoCodec(codec)) return before
  const payloads = track.keyframe().map(({ payload }) => payload)
  // To look again costs nothing as long as there is none.
  if (payloads.length === 0) return before
  const { width, height } = videoReader(codec).join(payloads)?.format ?? before
  const size = { width, height }
  sizes.set(track, { atMs: nowMs, size })
  return size
}

/** The other end of a link says the size, also of a track that the link does not carry. */
export function noteSize(track: RtpTrack, size: LayerSize, nowMs: number): void {
  if (size.width > 0) sizes.set(track, { atMs: nowMs, size })
}
