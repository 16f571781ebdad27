import type { PartFact, RenditionFacts, SegmentFact } from './facts.ts'
import { initName, partName, segmentName } from './numbers.ts'

export interface PlaylistOptions {
  /** How many closed segments the playlist lists, the newest ones. */
  readonly window: number
  /** The address of a file; relative names stand as they are. */
  readonly uriOf?: (name: string) => string
}

type UriOf = (name: string) => string

/** Parts are listed so far from the end (rfc8216bis section 4.4.4.9), in target durations, and in no more segments. */
const PARTS_WITHIN = 3
/** Players stay this many target durations, or part targets, behind the end (section 4.4.3.8). */
const HOLD_BACK = 3

/** A media playlist (RFC 8216 section 4.3; parts: draft-pantos-hls-rfc8216bis section 4.4). */
export function hlsPlaylist(facts: RenditionFacts, { window, uriOf = (name) => name }: PlaylistOptions): string {
  const { targetSeconds, partSeconds, ended } = facts
  const withParts = partSeconds !== null && !ended
  const segments = facts.segments.filter(({ closed, parts }) => closed || (withParts && parts.length > 0))
  const first = Math.max(0, segments.filter(({ closed }) => closed).length - window)
  const listed = segments.slice(first)
  const lines = [
    '#EXTM3U',
    `#EXT-X-VERSION:${withParts ? 9 : 7}`,
    `#EXT-X-TARGETDURATION:${targetSeconds}`,
    ...(withParts ? partRules(targetSeconds, partSeconds) : []),
    `#EXT-X-MEDIA-SEQUENCE:${listed[0]?.n ?? facts.nextSegment}`,
    `#EXT-X-DISCONTINUITY-SEQUENCE:${facts.discontinuitySequence + discontinuitiesIn(segments.slice(0, first))}`,
    ...(listed.every(({ independent }) => independent) ? ['#EXT-X-INDEPENDENT-SEGMENTS'] : []),
    ...segmentLines(listed, withParts ? withinEnd(listed, targetSeconds * PARTS_WITHIN) : listed.length, uriOf),
    ...(withParts ? [`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${uriOf(partName(facts.nextPart))}"`] : []),
    ...(ended ? ['#EXT-X-ENDLIST'] : []),
  ]
  return `${lines.join('\n')}\n`
}

/** Lets a player block until the next part, and says how far behind the end it plays. */
function partRules(targetSeconds: number, partSeconds: number): string[] {
  const [holdBack, partHoldBack] = [targetSeconds * HOLD_BACK, partSeconds * HOLD_BACK].map((s) => s.toFixed(3))
  return [
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=${holdBack},PART-HOLD-BACK=${partHoldBack}`,
    `#EXT-X-PART-INF:PART-TARGET=${partSeconds.toFixed(3)}`,
  ]
}

const discontinuitiesIn = (segments: readonly SegmentFact[]): number =>
  segments.filter(({ discontinuity }) => discontinuity).length

/** The index of the first segment that begins within `seconds` of the end. The open one counts even without parts. */
function withinEnd(segments: readonly SegmentFact[], seconds: number): number {
  let left = seconds
  const found = segments.findLastIndex(({ duration }) => (left -= duration) < 0)
  const count = PARTS_WITHIN - (segments.at(-1)?.closed === true ? 1 : 0)
  return Math.max(found + 1, segments.length - count)
}

function segmentLines(segments: readonly SegmentFact[], firstWithParts: number, uriOf: UriOf): string[] {
  return segments.flatMap((segment, index) => [
    ...beginningOf(segment, segments[index - 1], uriOf),
    ...(index >= firstWithParts ? segment.parts.map((part) => partLine(part, uriOf)) : []),
    ...(segment.closed ? [`#EXTINF:${segment.duration.toFixed(5)},`, uriOf(segmentName(segment.n))] : []),
  ])
}

/** The tags before a segment: a discontinuity, the init when it may be another one, and the date. */
function beginningOf(segment: SegmentFact, before: SegmentFact | undefined, uriOf: UriOf): string[] {
  const { discontinuity, init, startMs } = segment
  return [
    ...(discontinuity ? ['#EXT-X-DISCONTINUITY'] : []),
    ...(discontinuity || init !== before?.init ? [`#EXT-X-MAP:URI="${uriOf(initName(init))}"`] : []),
    `#EXT-X-PROGRAM-DATE-TIME:${new Date(Math.round(startMs)).toISOString()}`,
  ]
}

const partLine = ({ n, duration, independent }: PartFact, uriOf: UriOf): string =>
  `#EXT-X-PART:DURATION=${duration.toFixed(5)},URI="${uriOf(partName(n))}"${independent ? ',INDEPENDENT=YES' : ''}`
