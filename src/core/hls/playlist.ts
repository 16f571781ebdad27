import { isoTime } from '../../base/time.ts'
import type { PartFact, RenditionFacts, SegmentFact } from './facts.ts'
import { initName, partName, segmentName } from './numbers.ts'

export interface PlaylistOptions {
  /** How many closed segments the playlist lists, the newest ones. */
  readonly window: number
  /** False: a playlist without parts, whatever the rendition has. */
  readonly parts?: boolean
  /** How far behind the end players without parts are asked to stay, seconds; three target durations at least. */
  readonly holdBackSeconds?: number
}

/** Parts are listed so far from the end (rfc8216bis section 4.4.4.9), in target durations, and in no more segments. */
const PARTS_WITHIN = 3
/** Players stay this many target durations, or part targets, behind the end (section 4.4.3.8). */
const HOLD_BACK = 3

/** A media playlist (RFC 8216 section 4.3; parts: draft-pantos-hls-rfc8216bis section 4.4). Its addresses are names beside it. */
export function hlsPlaylist(facts: RenditionFacts, options: PlaylistOptions): string {
  const { window, parts = true } = options
  const { targetSeconds, partSeconds, ended } = facts
  const withParts = parts && partSeconds !== null && !ended
  const segments = facts.segments.filter(({ closed, parts }) => closed || (withParts && parts.length > 0))
  const first = Math.max(0, segments.filter(({ closed }) => closed).length - window)
  const listed = segments.slice(first)
  const lines = [
    '#EXTM3U',
    `#EXT-X-VERSION:${withParts ? 9 : 7}`,
    `#EXT-X-TARGETDURATION:${targetSeconds}`,
    ...serverControl(targetSeconds, withParts ? partSeconds : null, options.holdBackSeconds),
    `#EXT-X-MEDIA-SEQUENCE:${listed[0]?.n ?? facts.nextSegment}`,
    `#EXT-X-DISCONTINUITY-SEQUENCE:${facts.discontinuitySequence + discontinuitiesIn(segments.slice(0, first))}`,
    ...(listed.every(({ independent }) => independent) ? ['#EXT-X-INDEPENDENT-SEGMENTS'] : []),
    ...segmentLines(listed, withParts ? withinEnd(listed, targetSeconds * PARTS_WITHIN) : listed.length),
    ...(withParts ? [`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${partName(facts.nextPart)}"`] : []),
    ...(ended ? ['#EXT-X-ENDLIST'] : []),
  ]
  return `${lines.join('\n')}\n`
}

/** With parts, lets a player block until the next one. Says how far behind the end players stay. */
function serverControl(targetSeconds: number, partSeconds: number | null, holdBackSeconds?: number): string[] {
  const holdBack = `HOLD-BACK=${Math.max(holdBackSeconds ?? 0, targetSeconds * HOLD_BACK).toFixed(3)}`
  if (partSeconds === null) return holdBackSeconds === undefined ? [] : [`#EXT-X-SERVER-CONTROL:${holdBack}`]
  const partHoldBack = `PART-HOLD-BACK=${(partSeconds * HOLD_BACK).toFixed(3)}`
  return [
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,${holdBack},${partHoldBack}`,
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

/**
 * Added to the duration of a segment, seconds. Shaka 5.2.12 compares the time of each part by the playlist with that in its
 * media. Where the sum of durations is ever so little too short, which rounding decides, it resets its decoder at each part,
 * and drops what has no keyframe.
 */
const ROUNDED_UP = 1e-7

function segmentLines(segments: readonly SegmentFact[], firstWithParts: number): string[] {
  return segments.flatMap((segment, index) => [
    ...beginningOf(segment, segments[index - 1]),
    ...(index >= firstWithParts ? segment.parts.map(partLine) : []),
    ...(segment.closed ? [`#EXTINF:${(segment.duration + ROUNDED_UP).toFixed(7)},`, segmentName(segment.n)] : []),
  ])
}

/** The tags before a segment: a discontinuity, the init when it may be another one, and the date. */
function beginningOf(segment: SegmentFact, before: SegmentFact | undefined): string[] {
  const { discontinuity, init, startMs } = segment
  return [
    ...(discontinuity ? ['#EXT-X-DISCONTINUITY'] : []),
    ...(discontinuity || init !== before?.init ? [`#EXT-X-MAP:URI="${initName(init)}"`] : []),
    `#EXT-X-PROGRAM-DATE-TIME:${isoTime(Math.round(startMs))}`,
  ]
}

const partLine = ({ n, duration, independent }: PartFact): string =>
  `#EXT-X-PART:DURATION=${duration.toFixed(8)},URI="${partName(n)}"${independent ? ',INDEPENDENT=YES' : ''}`
