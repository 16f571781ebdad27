import type { Occurrence, Scheduler } from '#api/channels.ts'
import { addDays, dayOf } from './localDays.ts'

/** A scheduler with its occurrences in the shown time. */
export interface Planned {
  readonly scheduler: Pick<Scheduler, 'id' | 'name' | 'timeZone'>
  readonly occurrences: readonly Occurrence[]
}

export type SlotState = 'active' | 'skipped' | 'over' | 'planned'

/** The part of an occurrence that lies in one day. */
export interface Slot {
  readonly key: string
  readonly name: string
  /** The zone of its scheduler. */
  readonly timeZone: string
  readonly startMs: number
  /** null: it ends by hand, or with the next one. */
  readonly endMs: number | null
  readonly beginsHere: boolean
  readonly endsHere: boolean
  readonly state: SlotState
  /** Why it did not run. */
  readonly skipped: string | undefined
}

/** What begins first of all that schedulers have planned; null: nothing has a next start. */
export function firstOf(
  schedulers: readonly Pick<Scheduler, 'name' | 'nextStart'>[],
): { readonly name: string; readonly start: string } | null {
  const [first = null] = schedulers
    .flatMap(({ name, nextStart: start }) => (start === undefined ? [] : [{ name, start }]))
    .toSorted((one, other) => Date.parse(one.start) - Date.parse(other.start))
  return first
}

/** The slots of each day of a zone, the earliest first. An occurrence over midnight is in both days. */
export function slotsByDay(
  planned: readonly Planned[],
  days: readonly string[],
  timeZone: string,
  nowMs: number,
): ReadonlyMap<string, readonly Slot[]> {
  const byDay = new Map<string, Slot[]>(days.map((day) => [day, []]))
  for (const { scheduler, occurrences } of planned)
    for (const occurrence of occurrences) place(byDay, scheduler, occurrence, timeZone, nowMs)
  for (const slots of byDay.values()) slots.sort((one, other) => one.startMs - other.startMs)
  return byDay
}

function place(
  byDay: ReadonlyMap<string, Slot[]>,
  { id, name, timeZone: own }: Planned['scheduler'],
  occurrence: Occurrence,
  timeZone: string,
  nowMs: number,
): void {
  const startMs = Date.parse(occurrence.start)
  const endMs = occurrence.end === undefined ? null : Date.parse(occurrence.end)
  const first = dayOf(startMs, timeZone)
  // What ends at midnight has no part in the next day.
  const last = endMs === null || endMs <= startMs ? first : dayOf(endMs - 1, timeZone)
  for (const [day, slots] of byDay) {
    if (day < first || day > last) continue
    slots.push({
      key: `${id} ${occurrence.start}`,
      name,
      timeZone: own,
      startMs,
      endMs,
      beginsHere: day === first,
      endsHere: day === last,
      state: stateOf(occurrence, endMs ?? startMs, nowMs),
      skipped: occurrence.skipped,
    })
  }
}

function stateOf({ active, skipped }: Occurrence, endMs: number, nowMs: number): SlotState {
  if (active) return 'active'
  if (skipped !== undefined) return 'skipped'
  return endMs <= nowMs ? 'over' : 'planned'
}

/** The times of a slot as its day shows them: `20:00–21:00`, `22:00–`, `–01:00`. */
export function timesOf({ startMs, endMs, beginsHere, endsHere }: Slot, clock: (ms: number) => string): string {
  const start = beginsHere ? clock(startMs) : ''
  if (endMs === null) return start
  return `${start}–${endsHere ? clock(endMs) : ''}`
}

/** The time that the occurrences of a view are asked for; a day more at each end covers every zone. */
export const spanOf = (days: readonly string[]): { readonly from: string; readonly until: string } => ({
  from: `${addDays(days[0] ?? '', -1)}T00:00:00.000Z`,
  until: `${addDays(days.at(-1) ?? '', 2)}T00:00:00.000Z`,
})
