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
const UNKNOWN: LayerSize = { width: 0, height: 0 }

/** Of each track: all viewers of a source get one look. */
const sizes = new WeakMap<RtpTrack, { readonly atMs: number; readonly size: LayerSize }>()

/** The size of the pictures of a track, from its latest keyframe. */
export function sizeOf(track: RtpTrack, nowMs: number): LayerSize {
  const { size: before = UNKNOWN, atMs = Number.NEGATIVE_INFINITY } = sizes.get(track) ?? {}
  const { codec } = track.shape
  if (nowMs - atMs < SIZES_MS || !isVideoCodec(codec)) return before
  const payloads = track.keyframe().map(({ payload }) => payload)
  // To look again costs nothing as long as there is none, and little until the last of its packets is there.
  const { width, height } = (payloads.length > 0 && videoReader(codec).join(payloads)?.format) || before
  noteSize(track, { width, height }, nowMs)
  return { width, height }
}

/** The other end of a link says the size, also of a track that the link does not carry. */
export function noteSize(track: RtpTrack, size: LayerSize, nowMs: number): void {
  if (size.width > 0) sizes.set(track, { atMs: nowMs, size })
}
