import { addQuality, noQuality } from './figures.ts'
import { qualityByHour } from './sessionQuality.ts'
import { shownQuality } from './shown.ts'

/** How well one session played. What its player did not say is null. */
export interface ViewerQuality {
  readonly reportedBy: 'player' | 'cmcd'
  readonly startSeconds: number | null
  readonly startFailure: string | null
  readonly playedSeconds: number | null
  readonly stalls: number
  readonly stalledSeconds: number | null
  readonly behindSeconds: number | null
  readonly droppedPercent: number | null
  readonly height: number | null
}

/** What each is. Schemas and columns of CSV follow from it, in this order. */
export const VIEWER_QUALITY = {
  reportedBy: '`player`: its reports; `cmcd`: its requests (CTA-5004).',
  startSeconds: 'To the first picture.',
  startFailure: 'Why there was no picture.',
  playedSeconds: 'How long pictures moved.',
  stalls: 'How often they stopped; with CMCD, how often the buffer ran empty.',
  stalledSeconds: 'How long they stood still.',
  behindSeconds: 'Behind the live edge, the average over reports.',
  droppedPercent: 'Of the pictures that were decoded, those that were not shown.',
  height: 'Of the picture that was shown longest: the highest of 2160 to 144 that is not above it.',
} as const satisfies Record<keyof ViewerQuality, string>

/** @param stored as `SessionQuality` has it; null: nothing. @returns null: its player did not report */
export function viewerQualityOf(stored: string | null): ViewerQuality | null {
  if (stored === null) return null
  const sum = noQuality()
  for (const quality of qualityByHour(stored).values()) addQuality(sum, quality)
  const { cmcd, ...shown } = shownQuality(sum)
  if (shown.players === 0 && cmcd.players === 0) return null
  const isOfPlayer = shown.players > 0
  const orNull = <T>(value: T): T | null => (isOfPlayer ? value : null)
  const [[height] = [null]] = [...sum.heights].toSorted(([, a], [, b]) => b - a)
  return {
    reportedBy: isOfPlayer ? 'player' : 'cmcd',
    startSeconds: isOfPlayer ? shown.startSeconds : cmcd.startSeconds,
    startFailure: Object.keys(shown.failures)[0] ?? null,
    playedSeconds: orNull(shown.playedSeconds),
    stalls: isOfPlayer ? shown.stalls : cmcd.starved,
    stalledSeconds: orNull(shown.stalledSeconds),
    behindSeconds: shown.behindSeconds,
    droppedPercent: shown.droppedPercent,
    height,
  }
}
