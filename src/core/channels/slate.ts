import type { Result } from '../../base/result.ts'

/** A slate: the image or clip that viewers of a channel see while there is no broadcast. */

/** A file that can be a slate. */
export type SlateMediaType = 'image/jpeg' | 'image/png' | 'video/mp4'

export const SLATE_MEDIA_TYPES: readonly SlateMediaType[] = ['image/jpeg', 'image/png', 'video/mp4']

/** What the content of a slate was found to be. */
export interface SlateMedia {
  readonly mediaType: SlateMediaType
  /** Pixels. */
  readonly width: number
  readonly height: number
  /** How long a clip plays, milliseconds; null: it is an image. */
  readonly durationMs: number | null
  /** It is a clip with audio. */
  readonly hasAudio: boolean
}

/** A slate without its content. Each upload has an id of its own. */
export interface SlateFacts extends SlateMedia {
  readonly id: string
  readonly bytes: number
  readonly createdAtMs: number
}

/** The largest file. It is in the database and in each backup, so 1,000 slates of usual images are far below 1 GB. */
export const SLATE_MAX_BYTES = 8 * 1024 * 1024
/** The longest side of an image and of a clip, pixels. A decoded image then takes 128 MB at most. */
const IMAGE_MAX_PIXELS = 4096
const CLIP_MAX_PIXELS = 1920
/** Smaller ones cannot be encoded. */
const MIN_PIXELS = 16
/** A clip is encoded whole and held in memory while viewers watch it. */
const MAX_SECONDS = 20

/** What the first bytes of a file say it is. Null: nothing that can be a slate. */
export function slateMediaTypeOf(bytes: Uint8Array): SlateMediaType | null {
  const begins = (...signature: readonly number[]): boolean => signature.every((byte, at) => bytes[at] === byte)
  if (begins(0xff, 0xd8, 0xff)) return 'image/jpeg'
  if (begins(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  // ISO/IEC 14496-12 section 4.3: a file begins with the box `ftyp`.
  const isMp4 = [0x66, 0x74, 0x79, 0x70].every((byte, at) => bytes[at + 4] === byte)
  return isMp4 ? 'video/mp4' : null
}

/** What a file may be at most. */
export interface SlateLimits {
  readonly mediaType: SlateMediaType
  /** The longest side, pixels. */
  readonly maxSide: number
  readonly maxSeconds: number
}

export const slateLimitsOf = (mediaType: SlateMediaType): SlateLimits => ({
  mediaType,
  maxSide: mediaType === 'video/mp4' ? CLIP_MAX_PIXELS : IMAGE_MAX_PIXELS,
  maxSeconds: MAX_SECONDS,
})

/** Why some content is no slate. `unavailable`: this could not be found out now, for the reason in `message`. */
export type SlateProblem =
  | { readonly code: 'too_large' | 'too_long' }
  | { readonly code: 'broken'; readonly message: string }
  | { readonly code: 'unavailable'; readonly message: string }

/** Decodes a whole file, which may be hostile, within these limits. */
export type ProbeSlate = (
  bytes: Uint8Array,
  limits: SlateLimits,
) => Promise<Result<Omit<SlateMedia, 'mediaType'>, SlateProblem>>

/** Why this media cannot be a slate. Null: it can. */
export function refuseSlateMedia({ width, height, durationMs }: SlateMedia, limits: SlateLimits): SlateProblem | null {
  if (Math.max(width, height) > limits.maxSide) return { code: 'too_large' }
  if ((durationMs ?? 0) > limits.maxSeconds * 1000) return { code: 'too_long' }
  if (Math.min(width, height) >= MIN_PIXELS) return null
  return { code: 'broken', message: `it must have at least ${MIN_PIXELS} pixels on each side` }
}

/** A sentence for the client. */
export function slateProblemText(problem: SlateProblem, { mediaType, maxSide, maxSeconds }: SlateLimits): string {
  const what = mediaType === 'video/mp4' ? 'clip' : 'image'
  switch (problem.code) {
    case 'too_large':
      return `The ${what} may have at most ${maxSide} pixels on each side`
    case 'too_long':
      return `The clip may play for at most ${maxSeconds} seconds`
    case 'broken':
      return `The ${what} cannot be used: ${problem.message}`
    case 'unavailable':
      return `The ${what} cannot be checked now: ${problem.message}`
  }
}
