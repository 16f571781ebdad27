import { longestSeconds, mediaSeconds, type TrackInit, type TrackMedia } from './mp4.ts'
import type { Variant } from './playlist.ts'
import { inSeconds, unless, type Violation } from './violation.ts'

/** A segment as its playlist lists it and as its bytes are. */
export interface SegmentFacts {
  readonly number: number
  readonly discontinuityNumber: number
  readonly dateMs: number | null
  /** As listed. */
  readonly durationSeconds: number
  readonly bytes: number
  readonly init: readonly TrackInit[]
  readonly tracks: readonly TrackMedia[]
}

/** The track that the duration of a segment comes from: video where there is any. */
function leadOf({
  init,
  tracks,
}: Pick<SegmentFacts, 'init' | 'tracks'>): { track: TrackInit; media: TrackMedia } | null {
  for (const kind of ['video', 'audio'] as const)
    for (const track of init.filter((each) => each.kind === kind)) {
      const media = tracks.find(({ id }) => id === track.id)
      if (media) return { track, media }
    }
  return null
}

/** V3, V4 and V19: what one segment holds. @param independent the playlist has `EXT-X-INDEPENDENT-SEGMENTS` */
export function checkSegment(facts: SegmentFacts, independent: boolean, where: string): Violation[] {
  const at = `${where} segment ${facts.number}`
  const unknown = facts.tracks.filter(({ id }) => !facts.init.some((track) => track.id === id))
  const lead = leadOf(facts)
  if (lead === null) return unless(false, 'V19', at, 'media', null)
  return [
    ...unless(
      unknown.length === 0,
      'V3',
      at,
      'an init segment with its tracks',
      `tracks ${unknown.map(({ id }) => id).join(' ')} without one`,
    ),
    ...unless(
      !independent || lead.media.samples[0]?.key === true,
      'V4',
      at,
      'a keyframe at the beginning',
      'another frame',
    ),
    ...lastsAsListed(lead, facts.durationSeconds, at),
  ]
}

/** V4 and V19 of a part. */
export function checkPart(
  facts: Pick<SegmentFacts, 'init' | 'tracks' | 'durationSeconds'> & { readonly independent: boolean },
  where: string,
): Violation[] {
  const lead = leadOf(facts)
  if (lead === null) return unless(false, 'V19', where, 'media', null)
  const hasKey = lead.media.samples.some(({ key }) => key)
  return [
    ...unless(!facts.independent || hasKey, 'V4', where, 'a keyframe in an INDEPENDENT part', 'none'),
    ...lastsAsListed(lead, facts.durationSeconds, where),
  ]
}

type Lead = NonNullable<ReturnType<typeof leadOf>>

/** Audio may be cut where the video of other renditions is, which is found to a quarter of a frame. */
const FRAMES = { video: 1, audio: 1.25 }

/** V19. A frame more or less. */
function lastsAsListed({ track, media }: Lead, listedSeconds: number, where: string): Violation[] {
  const seconds = mediaSeconds(media, track)
  const holds = Math.abs(seconds - listedSeconds) <= FRAMES[track.kind] * longestSeconds(media, track) + 0.001
  return unless(holds, 'V19', where, `media of ${inSeconds(listedSeconds)}`, inSeconds(seconds))
}

/** V17 */
export function checkJoin(parts: readonly Buffer[], segment: Buffer, where: string): Violation[] {
  const joined = Buffer.concat(parts)
  const expected = `the ${joined.length} bytes of its ${parts.length} parts`
  return unless(joined.equals(segment), 'V17', where, expected, `${segment.length} other bytes`)
}

const GAP_SECONDS = 0.001

/** V18. Within a discontinuity, each track goes on where it ended in the segment before. */
export function checkContinuity(before: SegmentFacts, after: SegmentFacts, where: string): Violation[] {
  const follows = after.number === before.number + 1 && after.discontinuityNumber === before.discontinuityNumber
  if (!follows) return []
  return after.init.flatMap((track) => {
    const earlier = before.tracks.find(({ id }) => id === track.id)
    const later = after.tracks.find(({ id }) => id === track.id)
    if (!earlier || !later) return []
    const end = earlier.start / track.timescale + mediaSeconds(earlier, track)
    const start = later.start / track.timescale
    const at = `${where} segment ${after.number} ${track.kind}`
    return unless(Math.abs(start - end) <= GAP_SECONDS, 'V18', at, `media from ${inSeconds(end)} on`, inSeconds(start))
  })
}

/** How far the average may be above `AVERAGE-BANDWIDTH`. It may be far below: a still image needs hardly anything. */
const AVERAGE_FACTOR = 1.1

/** V20. @param segments successive ones; @param targetSeconds the target duration */
export function checkRates(
  variant: Variant,
  segments: readonly SegmentFacts[],
  targetSeconds: number,
  where: string,
): Violation[] {
  const bits = segments.reduce((sum, { bytes }) => sum + bytes * 8, 0)
  const seconds = segments.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0)
  const average = Math.round(bits / Math.max(seconds, 0.001))
  const peak = peakOf(segments, targetSeconds)
  const { bandwidth, averageBandwidth } = variant
  return [
    ...unless(peak <= (bandwidth ?? 0), 'V20', `${where} BANDWIDTH`, `at least the peak of ${peak} b/s`, bandwidth),
    ...unless(
      average <= (averageBandwidth ?? 0) * AVERAGE_FACTOR,
      'V20',
      `${where} AVERAGE-BANDWIDTH`,
      `about the average of ${average} b/s`,
      averageBandwidth,
    ),
  ]
}

/** The highest rate of successive segments that last 0.5 to 1.5 target durations together (section 4.4.6.2). */
function peakOf(segments: readonly SegmentFacts[], targetSeconds: number): number {
  let peak = 0
  for (let from = 0; from < segments.length; from++) {
    let [bits, seconds] = [0, 0]
    for (const { bytes, durationSeconds } of segments.slice(from)) {
      bits += bytes * 8
      seconds += durationSeconds
      if (seconds > targetSeconds * 1.5) break
      if (seconds >= targetSeconds * 0.5) peak = Math.max(peak, bits / seconds)
    }
  }
  return Math.round(peak)
}

/** V21. A declared frame rate is the highest one (section 4.4.6.2), so media may have fewer frames, but not half of them. */
export function checkVariant(variant: Variant, segments: readonly SegmentFacts[], where: string): Violation[] {
  const [first] = segments
  const video = first?.init.find(({ kind }) => kind === 'video')
  const codecs = first?.init.flatMap(({ codec }) => codec ?? []) ?? []
  const expected = codecs.toSorted().join(',')
  const declared = variant.codecs.toSorted().join(',')
  const size = video ? `${video.width}x${video.height}` : null
  return [
    ...unless(declared === expected, 'V21', `${where} CODECS`, expected, declared),
    ...unless(variant.resolution === size, 'V21', `${where} RESOLUTION`, size ?? 'none', variant.resolution),
    ...(video ? frameRate(variant.frameRate, segments, where) : []),
  ]
}

function frameRate(declared: number | null, segments: readonly SegmentFacts[], where: string): Violation[] {
  const rates = segments.flatMap((facts) => {
    const lead = leadOf(facts)
    const seconds = lead?.track.kind === 'video' ? mediaSeconds(lead.media, lead.track) : 0
    return lead && seconds >= 0.5 ? [lead.media.samples.length / seconds] : []
  })
  if (rates.length === 0) return []
  const highest = Math.max(...rates)
  const rate = declared ?? 0
  const holds = highest <= rate * 1.05 + 0.5 && highest >= rate / 2
  return unless(holds, 'V21', `${where} FRAME-RATE`, `about ${highest.toFixed(3)}`, declared)
}

/** The most that the starts and durations of a segment may differ between renditions: an AAC frame and a video frame. */
const APART_SECONDS = 0.08

/** Seconds of the last frame of video in a segment; 0: it has none. */
function lastFrameSeconds(facts: SegmentFacts): number {
  const lead = leadOf(facts)
  return lead?.track.kind === 'video' ? (lead.media.samples.at(-1)?.duration ?? 0) / lead.track.timescale : 0
}

/**
 * V22. The same segment of two renditions. Where the source pauses over the end of a segment, a rendition with a frame rate
 * of its own repeats the frame, and its next segment begins with that; the others have no frame before the next one.
 * @param before the segment before, of both
 */
export function checkAligned(
  one: SegmentFacts,
  other: SegmentFacts,
  where: string,
  before: readonly SegmentFacts[] = [],
): Violation[] {
  const at = `${where} segment ${one.number}`
  const apartMs = Math.abs((one.dateMs ?? 0) - (other.dateMs ?? 0))
  const apartSeconds = Math.abs(one.durationSeconds - other.durationSeconds)
  const startsApart = Math.max(APART_SECONDS, ...before.map(lastFrameSeconds))
  const endsApart = Math.max(startsApart, ...[one, other].map(lastFrameSeconds))
  const [a, b] = [one.discontinuityNumber, other.discontinuityNumber]
  return [
    ...unless(a === b, 'V22', `${at} discontinuity`, String(a), b),
    ...unless(apartMs <= startsApart * 1000, 'V22', `${at} date`, 'the same', `${apartMs} ms apart`),
    ...unless(
      apartSeconds <= endsApart,
      'V22',
      `${at} duration`,
      inSeconds(one.durationSeconds),
      inSeconds(other.durationSeconds),
    ),
  ]
}
