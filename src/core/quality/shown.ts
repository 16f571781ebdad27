import { rounded } from '../../base/numbers.ts'
import { type Quality, startMsOf } from './figures.ts'

/** How well something played, as clients read it. */
export interface QualityFigures {
  readonly players: number
  readonly started: number
  /** Seconds until the first picture: the average, the median, and what 95 of 100 starts did not exceed. Null: no start. */
  readonly startSeconds: number | null
  readonly startSecondsMedian: number | null
  readonly startSeconds95: number | null
  readonly failures: Readonly<Record<string, number>>
  readonly playedSeconds: number
  readonly stalls: number
  readonly stalledSeconds: number
  readonly behindSeconds: number | null
  readonly droppedPercent: number | null
  readonly switches: number
  /** Seconds played by the height of the picture. */
  readonly heights: Readonly<Record<string, number>>
  /** Of players that send CMCD. */
  readonly cmcd: {
    readonly players: number
    readonly startSeconds: number | null
    readonly starved: number
    readonly bufferSeconds: number | null
    readonly kbps: number | null
  }
}

export function shownQuality(quality: Quality): QualityFigures {
  const { sums, failures, heights } = quality
  return {
    players: sums.players,
    started: sums.starts,
    startSeconds: seconds(mean(sums.startMs, sums.starts)),
    startSecondsMedian: seconds(startMsOf(quality, 0.5)),
    startSeconds95: seconds(startMsOf(quality, 0.95)),
    failures: Object.fromEntries([...failures].toSorted(([, a], [, b]) => b - a)),
    playedSeconds: Math.round(sums.playedMs / 1000),
    stalls: sums.stalls,
    stalledSeconds: Math.round(sums.stalledMs / 100) / 10,
    behindSeconds: seconds(mean(sums.behindMs, sums.behindReports)),
    droppedPercent: rounded(mean(100 * sums.dropped, sums.frames), 100),
    switches: sums.switches,
    heights: Object.fromEntries([...heights].map(([height, ms]) => [String(height), Math.round(ms / 1000)])),
    cmcd: {
      players: sums.cmcdPlayers,
      startSeconds: seconds(mean(sums.cmcdStartMs, sums.cmcdStarts)),
      starved: sums.starved,
      bufferSeconds: seconds(mean(sums.bufferMs, sums.bufferReports)),
      kbps: rounded(mean(sums.kbps, sums.kbpsReports), 1),
    },
  }
}

/** Sessions without a picture, for whatever reason. */
export const startFailuresOf = ({ failures }: QualityFigures): number =>
  Object.values(failures).reduce((sum, n) => sum + n, 0)

const mean = (sum: number, n: number): number | null => (n === 0 ? null : sum / n)

const seconds = (ms: number | null): number | null => rounded(ms === null ? null : ms / 1000, 1000)
