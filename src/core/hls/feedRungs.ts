import type { PixelSize } from '../../base/pixelSize.ts'

/** A rendition that a publish token asks for, beside what the publisher sends. */
export interface FeedRendition {
  /** Pixels of the shorter side. */
  readonly height: number
  /** The most bits of video per second. */
  readonly bitrate: number
}

/** Which codecs the HLS of a feed has: H.264 and AAC, which every player has, or those of the publisher. */
export const HLS_CODECS = ['h264', 'source'] as const
export type HlsCodecs = (typeof HLS_CODECS)[number]

/** The most renditions of a token. */
export const FEED_RENDITIONS_MAX = 4
/** Bounds of `height`: even, and at most full HD. */
export const FEED_HEIGHT = { min: 96, max: 1080 } as const
/** Bounds of `bitrate`. */
export const FEED_BITRATE = { min: 50_000, max: 10_000_000 } as const

/** A rendition that is encoded from a feed. */
export interface FeedRung extends FeedRendition {
  /** Its name in addresses. */
  readonly name: string
  /** Pixels of the video. */
  readonly size: PixelSize
}

/**
 * The renditions to encode from a source of this size, the largest first. None is larger than the source: those that would
 * be as large or larger are left out. One that players already know stays, in the size of the source.
 *
 * @param known names that players have
 */
export function feedRungs(
  renditions: readonly FeedRendition[],
  source: PixelSize,
  known: (name: string) => boolean,
): FeedRung[] {
  const lines = Math.min(source.width, source.height)
  return renditions
    .map((rendition) => ({ ...rendition, name: rungName(rendition), size: sizeOf(source, rendition.height / lines) }))
    .filter(({ height, name }) => lines > 0 && (height < lines || known(name)))
    .toSorted((a, b) => b.height - a.height)
}

const rungName = ({ height }: FeedRendition): string => `v${height}`

/** Encoders need even sizes. */
function sizeOf({ width, height }: PixelSize, scale: number): PixelSize {
  const even = (pixels: number): number => Math.max(2, 2 * Math.round((pixels * Math.min(1, scale)) / 2))
  return { width: even(width), height: even(height) }
}
