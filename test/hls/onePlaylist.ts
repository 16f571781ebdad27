import { createRequire } from 'node:module'
import { type MediaPlaylist, partsIn, type Segment, sumOf } from './playlist.ts'
import { inSeconds, unless, type Violation } from './violation.ts'

/** The rules that hold within one playlist (RFC 8216 and draft-pantos-hls-rfc8216bis): V1, V2, V3, V6, V8, and strict. */
export function checkPlaylist(playlist: MediaPlaylist, where: string): Violation[] {
  return [
    ...strictly(playlist.text, where),
    ...partsFillSegments(playlist, where),
    ...holdsBack(playlist, where),
    ...hasMaps(playlist, where),
    ...hasDates(playlist, where),
    ...hintsWhatComes(playlist, where),
  ]
}

interface HlsParser {
  setOptions(options: { strictMode: boolean }): void
  parse(text: string): unknown
}

const parser = createRequire(import.meta.url)('hls-parser') as HlsParser

/**
 * hls-parser requires CAN-BLOCK-RELOAD wherever there is EXT-X-SERVER-CONTROL. A playlist without parts may have the tag
 * only for HOLD-BACK (draft-pantos-hls-rfc8216bis section 4.4.3.8), so it is parsed without it, and V2 judges the tag.
 */
const parsable = (text: string): string =>
  text.includes('#EXT-X-PART') ? text : text.replace(/^#EXT-X-SERVER-CONTROL:(?!.*CAN-BLOCK-RELOAD=YES).*\n/m, '')

/** What hls-parser refuses in its strict mode: also old parts, and a number of hints other than one. */
export function strictly(text: string, where: string): Violation[] {
  parser.setOptions({ strictMode: true })
  try {
    parser.parse(parsable(text))
    return []
  } catch (error) {
    return unless(false, 'strict', where, 'a playlist that hls-parser accepts', String(error))
  } finally {
    parser.setOptions({ strictMode: false })
  }
}

/** V1. Durations are decimal, so the sum may be a little off. */
const SUM_SECONDS = 0.001 + 1e-9

function partsFillSegments({ segments }: MediaPlaylist, where: string): Violation[] {
  return segments
    .filter(({ parts }) => parts.length > 0)
    .flatMap(({ number, durationSeconds, parts }) => {
      const sum = sumOf(parts)
      const holds = Math.abs(sum - durationSeconds) <= SUM_SECONDS
      return unless(holds, 'V1', `${where} segment ${number}`, `parts of ${inSeconds(durationSeconds)}`, inSeconds(sum))
    })
}

/** V2. The draft requires only twice the part target; Apple's authoring rules recommend three times. */
function holdsBack(playlist: MediaPlaylist, where: string): Violation[] {
  const { partTargetSeconds: part, targetSeconds, partHoldBackSeconds, holdBackSeconds } = playlist
  const [leastPart, least] = [(part ?? 0) * 3 - 1e-6, targetSeconds * 3 - 1e-6]
  const [expectedPart, expected] = [
    `at least ${inSeconds((part ?? 0) * 3)}`,
    `at least ${inSeconds(targetSeconds * 3)}`,
  ]
  return [
    ...unless(
      part === null || (partHoldBackSeconds ?? 0) >= leastPart,
      'V2',
      `${where} PART-HOLD-BACK`,
      expectedPart,
      partHoldBackSeconds,
    ),
    ...unless((holdBackSeconds ?? least) >= least, 'V2', `${where} HOLD-BACK`, expected, holdBackSeconds),
  ]
}

const isFragmented = (uri: string): boolean => /\.(m4s|mp4|m4a|m4v|cmf[av])$/.test(uri.split('?')[0] ?? '')

/** V3. Whether a map fits its media, the bytes show. */
function hasMaps({ segments, open }: MediaPlaylist, where: string): Violation[] {
  const first = segments[0]?.uri ?? open?.parts[0]?.uri ?? ''
  const map = (segments[0] ?? open)?.mapUri
  return unless(
    !isFragmented(first) || map !== null,
    'V3',
    `${where} ${first}`,
    'EXT-X-MAP before the first fragmented MP4 segment',
    map,
  )
}

const DATE_MS = 20

/** V6. Within one discontinuity the dates follow the durations; at a discontinuity they may only move forward. */
function hasDates({ segments, open }: MediaPlaylist, where: string): Violation[] {
  const violations: Violation[] = []
  let endMs: number | null = null
  for (const segment of [...segments, ...(open ? [open] : [])]) {
    const at = `${where} segment ${segment.number}`
    const { dateMs, discontinuity } = segment
    const isFirst = segment === segments[0]
    violations.push(...unless(!(isFirst || discontinuity) || dateMs !== null, 'V6', at, 'a date', null))
    violations.push(...follows(at, dateMs, endMs, discontinuity))
    const startMs: number | null = dateMs ?? endMs
    endMs = startMs === null || !('uri' in segment) ? null : startMs + (segment as Segment).durationSeconds * 1000
  }
  return violations
}

function follows(at: string, dateMs: number | null, endMs: number | null, discontinuity: boolean): Violation[] {
  if (dateMs === null || endMs === null) return []
  const lateMs = dateMs - endMs
  const holds = lateMs >= -DATE_MS && (discontinuity || lateMs <= DATE_MS)
  const expected = discontinuity ? `a date from ${dateOf(endMs)} on` : `the date ${dateOf(endMs)} ±${DATE_MS} ms`
  return unless(holds, 'V6', at, expected, dateOf(dateMs))
}

const dateOf = (ms: number): string => (Number.isFinite(ms) ? new Date(ms).toISOString() : 'an unreadable date')

/** V8 */
function hintsWhatComes(playlist: MediaPlaylist, where: string): Violation[] {
  const { hints, text } = playlist
  const at = `${where} EXT-X-PRELOAD-HINT`
  const listed = new Set(partsIn(playlist).map(({ uri }) => uri))
  return [
    ...hints.flatMap((uri) => unless(!listed.has(uri), 'V8', at, 'a part that is not listed yet', uri)),
    ...unless(
      hints.length === 0 || text.lastIndexOf('#EXT-X-PRELOAD-HINT') > text.lastIndexOf('#EXT-X-PART:'),
      'V8',
      at,
      'the hint after the last part',
      'a part after the hint',
    ),
  ]
}
