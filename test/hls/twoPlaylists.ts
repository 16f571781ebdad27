import { type MediaPlaylist, nextOf, type OpenSegment, partsIn, type Segment } from './playlist.ts'
import { inSeconds, unless, type Violation } from './violation.ts'

/** The rules for two playlists of one rendition, the earlier one first: V9 to V12. */
export function checkSuccessor(before: MediaPlaylist, after: MediaPlaylist, where: string): Violation[] {
  return [
    ...constants(before, after, where),
    ...keepsSegments(before, after, where),
    ...countsDiscontinuities(before, after, where),
    ...keepsHint(before, after, where),
  ]
}

/** V9. Media without a discontinuity between them share their init segment. */
function constants(before: MediaPlaylist, after: MediaPlaylist, where: string): Violation[] {
  const fixed = ['targetSeconds', 'partTargetSeconds', 'version'] as const
  const changed = fixed.flatMap((name) =>
    unless(before[name] === after[name], 'V9', `${where} ${name}`, String(before[name]), after[name]),
  )
  const [last] = before.segments.slice(-1)
  const next = after.segments.find(({ number }) => number === (last?.number ?? 0) + 1)
  if (!last || !next || next.discontinuity) return changed
  const at = `${where} segment ${next.number} EXT-X-MAP`
  return [...changed, ...unless(next.mapUri === last.mapUri, 'V9', at, String(last.mapUri), next.mapUri)]
}

/** What must not change while a segment is listed. */
const identityOf = ({ uri, durationSeconds, dateMs, mapUri }: Segment): Record<string, string | number | null> => ({
  uri,
  durationSeconds,
  dateMs,
  mapUri,
})

/** V10 */
function keepsSegments(before: MediaPlaylist, after: MediaPlaylist, where: string): Violation[] {
  const [was, is] = [nextOf(before).msn, nextOf(after).msn]
  const at = `${where} EXT-X-MEDIA-SEQUENCE`
  const falls = [
    ...unless(
      after.mediaSequence >= before.mediaSequence,
      'V10',
      at,
      `at least ${before.mediaSequence}`,
      after.mediaSequence,
    ),
    ...unless(is >= was, 'V10', `${where} last segment`, `at least ${was - 1}`, is - 1),
  ]
  const earlier = new Map(before.segments.map((segment) => [segment.number, segment]))
  return [...falls, ...after.segments.flatMap((segment) => changesOf(earlier.get(segment.number), segment, where))]
}

function changesOf(before: Segment | undefined, after: Segment, where: string): Violation[] {
  if (before === undefined) return []
  const is = identityOf(after)
  return Object.entries(identityOf(before)).flatMap(([name, was]) =>
    unless(
      was === is[name] || isUndated(name, was, is[name]),
      'V10',
      `${where} segment ${after.number} ${name}`,
      String(was),
      is[name],
    ),
  )
}

/** The first segment of a playlist needs a date, also one that had none before. */
const isUndated = (name: string, ...dates: unknown[]): boolean => name === 'dateMs' && dates.includes(null)

/** V11. A segment keeps the number of its discontinuity; after a restart that lists only new segments it does not fall. */
function countsDiscontinuities(before: MediaPlaylist, after: MediaPlaylist, where: string): Violation[] {
  const earlier = new Map(listedIn(before).map((segment) => [segment.number, segment.discontinuityNumber]))
  const shared = listedIn(after).find(({ number }) => earlier.has(number))
  const at = `${where} EXT-X-DISCONTINUITY-SEQUENCE`
  if (shared === undefined) {
    const least = Math.max(before.discontinuitySequence, ...earlier.values())
    const is = after.discontinuitySequence
    return unless(is >= least, 'V11', at, `at least ${least}`, is)
  }
  const was = earlier.get(shared.number) ?? 0
  const found = shared.discontinuityNumber
  return unless(found === was, 'V11', at, `discontinuity ${was} at segment ${shared.number}`, found)
}

const listedIn = ({ segments, open }: MediaPlaylist): OpenSegment[] => [...segments, ...(open ? [open] : [])]

/** V12. What was hinted comes next, under the same address; before another init it never does. */
function keepsHint(before: MediaPlaylist, after: MediaPlaylist, where: string): Violation[] {
  const [hint] = before.hints
  const parts = listedIn(after).flatMap(({ parts: own, mapUri }) => own.map(({ uri }) => ({ uri, mapUri })))
  const lastBefore = partsIn(before).at(-1)?.uri
  const at = lastBefore === undefined ? -1 : parts.findIndex(({ uri }) => uri === lastBefore)
  const [last, next] = [parts[at], parts[at + 1]]
  if (hint === undefined || last === undefined || next === undefined) return []
  const place = `${where} part after ${lastBefore}`
  return next.mapUri === last.mapUri
    ? unless(next.uri === hint, 'V12', place, hint, next.uri)
    : unless(next.uri !== hint, 'V12', place, 'another part, which has another init', hint)
}

/** V14. @param waitedSeconds since the previous change @param graceSeconds for a busy machine */
export function checkNews(
  playlist: MediaPlaylist,
  waitedSeconds: number,
  graceSeconds: number,
  where: string,
): Violation[] {
  const most = playlist.targetSeconds * 1.5
  const holds = playlist.ended || waitedSeconds <= most + graceSeconds
  return unless(holds, 'V14', where, `a change within ${inSeconds(most)}`, `none for ${inSeconds(waitedSeconds)}`)
}

/** A blocking request: the segment and the part that it waits for. */
export interface Request {
  readonly msn: number
  readonly part: number
}

/** What a blocking request met. */
export interface Waiting {
  /** The part did not exist when the request was sent, so the answer should come with it. */
  readonly waited: boolean
  /** How many parts later a busy machine may answer. */
  readonly graceParts: number
}

/** V16 */
export function checkBlocking(
  { msn, part }: Request,
  answer: MediaPlaylist,
  { waited, graceParts }: Waiting,
  where: string,
): Violation[] {
  const at = `${where} _HLS_msn=${msn}&_HLS_part=${part}`
  const next = nextOf(answer)
  const holds = answer.ended || next.msn > msn || (next.msn === msn && next.part > part)
  const later = partsAfter({ msn, part }, answer)
  const isInTime = !waited || later <= 1 + graceParts
  return [
    ...unless(holds, 'V16', at, 'an answer that lists it', `segment ${next.msn} with ${next.part} parts`),
    ...unless(isInTime, 'V16', at, 'an answer at most one part late', `${later} parts after it`),
  ]
}

function partsAfter({ msn, part }: Request, { segments, open }: MediaPlaylist): number {
  return [...segments, ...(open ? [open] : [])]
    .filter(({ number }) => number >= msn)
    .reduce((sum, { number, parts }) => sum + (number === msn ? Math.max(0, parts.length - part - 1) : parts.length), 0)
}

/** V25. Two viewers at the same moment: anything but the same text keeps caches from serving both. */
export function checkSameText(first: string, second: string, where: string): Violation[] {
  if (first === second) return []
  const [a, b] = [first.split('\n'), second.split('\n')]
  const line = a.findIndex((text, index) => text !== b[index])
  return unless(false, 'V25', `${where} line ${line + 1}`, `the same for all viewers: ${a[line] ?? ''}`, b[line])
}
