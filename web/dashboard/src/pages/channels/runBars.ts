import type { RunRecord } from '#api/channels.ts'
import { addDays, midnightMs } from './localDays.ts'

type Run = Pick<RunRecord, 'engineId' | 'start' | 'end' | 'stopType'>

/** A part of a run in one day; `from` and `until` are parts of the day, 0 to 1. */
export interface Bar {
  /** The index of its engine. */
  readonly lane: number
  readonly from: number
  readonly until: number
  /** The run ended in this day because of an error. */
  readonly failed: boolean
}

export interface DayBars {
  readonly day: string
  readonly bars: readonly Bar[]
  /** How long at least one engine ran. */
  readonly seconds: number
}

/** What the engines did in each day of a zone. A run without an end goes on until now. */
export function barsByDay(
  runs: readonly Run[],
  engineIds: readonly string[],
  days: readonly string[],
  timeZone: string,
  nowMs: number,
): readonly DayBars[] {
  return days.map((day) => {
    const [from, until] = [midnightMs(day, timeZone), midnightMs(addDays(day, 1), timeZone)]
    const parts = runs
      .map((run) => partOf(run, from, until, nowMs))
      .filter(({ engineId, startMs, endMs }) => endMs > startMs && engineIds.includes(engineId))
    const bars = parts.map(({ engineId, startMs, endMs, failed }) => ({
      lane: engineIds.indexOf(engineId),
      from: (startMs - from) / (until - from),
      until: (endMs - from) / (until - from),
      failed,
    }))
    return { day, bars, seconds: covered(parts) / 1000 }
  })
}

function partOf({ engineId, start, end, stopType }: Run, from: number, until: number, nowMs: number) {
  const endMs = end === undefined ? nowMs : Date.parse(end)
  return {
    engineId,
    startMs: Math.max(from, Date.parse(start)),
    endMs: Math.min(until, endMs),
    failed: stopType === 'error' && endMs <= until,
  }
}

/** The length of the union of spans, milliseconds. */
function covered(spans: readonly { readonly startMs: number; readonly endMs: number }[]): number {
  let [sum, reached] = [0, -Infinity]
  for (const { startMs, endMs } of spans.toSorted((one, other) => one.startMs - other.startMs)) {
    sum += Math.max(0, endMs - Math.max(startMs, reached))
    reached = Math.max(reached, endMs)
  }
  return sum
}
