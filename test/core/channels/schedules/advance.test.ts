import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  advance,
  type Advance,
  beginByHand,
  endByHand,
  forgetAhead,
  reconcile,
  type SchedulerState,
  seenAfterEdit,
} from '../../../../src/core/channels/schedules/advance.ts'
import { type SchedulePlan, planOf, type Timing } from '../../../../src/core/channels/schedules/plan.ts'

const at = (text: string): number => Date.parse(`${text}:00Z`)

function plan(timing: Partial<Timing> = {}): SchedulePlan {
  const base = { startDate: '2026-01-01', startTime: '10:00', endDate: null, endTime: '11:00', recurrence: null }
  const read = planOf({ ...base, timeZone: 'UTC', ...timing })
  if (!read.ok) throw new Error(JSON.stringify(read.error))
  return read.value
}

const DAILY = plan({ recurrence: 'RRULE:FREQ=DAILY;COUNT=5' })

const begun = (of: SchedulePlan): SchedulerState =>
  reconcile(of, { occurrence: null, seenUntilMs: at('2025-12-31T00:00') }).state
const steps = ({ steps }: Advance): string[] =>
  steps.map((step) => `${step.do} ${new Date(step.occurrence.startMs).toISOString().slice(5, 16)}`)

describe('a scheduler', () => {
  test('begins on time, ends on time, and is terminated after the last occurrence', () => {
    const once = plan()
    const began = advance(once, true, begun(once), at('2026-01-01T10:00'))
    expect([steps(began), began.state.status, began.nextMs]).toEqual([
      ['begin 01-01T10:00'],
      'active',
      at('2026-01-01T11:00'),
    ])
    const ended = advance(once, true, began.state, at('2026-01-01T11:00'))
    expect([steps(ended), ended.state.status, ended.nextMs]).toEqual([['end 01-01T10:00'], 'terminated', null])
  })

  test('starts an active occurrence late and records the missed ones', () => {
    const late = advance(DAILY, true, begun(DAILY), at('2026-01-03T10:20'))
    expect(steps(late)).toEqual(['begin 01-03T10:00'])
    expect(late.skipped.map(({ startMs }) => startMs)).toEqual([at('2026-01-01T10:00'), at('2026-01-02T10:00')])
  })

  test('skips occurrences that it missed completely', () => {
    const late = advance(DAILY, true, begun(DAILY), at('2026-01-02T12:00'))
    expect([steps(late), late.state.status, late.skipped.length]).toEqual([[], 'idle', 2])
    expect(late.nextMs).toBe(at('2026-01-03T10:00'))
  })

  test('that is disabled begins nothing, and does not start an occurrence late when it is enabled during it', () => {
    const idle = advance(DAILY, false, begun(DAILY), at('2026-01-01T10:05'))
    expect([steps(idle), idle.skipped.length]).toEqual([[], 1])
    expect(steps(advance(DAILY, true, idle.state, at('2026-01-01T10:10')))).toEqual([])
  })

  test('after a missed end: the old occurrence ends, and the next one starts without a stop between them', () => {
    const began = advance(DAILY, true, begun(DAILY), at('2026-01-01T10:00'))
    expect(steps(advance(DAILY, true, began.state, at('2026-01-02T09:00')))).toEqual(['end 01-01T10:00'])
    expect(steps(advance(DAILY, true, began.state, at('2026-01-02T10:30')))).toEqual(['begin 01-02T10:00'])
  })

  test('by hand: started early it ends with the occurrence, stopped early it does not start again', () => {
    const early = beginByHand(DAILY, begun(DAILY), at('2026-01-01T08:00'))
    expect([early.state.status, early.nextMs]).toEqual(['active', at('2026-01-01T11:00')])
    expect(steps(advance(DAILY, true, early.state, at('2026-01-01T10:00')))).toEqual([])
    const stopped = endByHand(DAILY, early.state, at('2026-01-01T09:00'))
    expect(stopped.state.status).toBe('idle')
    expect(steps(advance(DAILY, true, stopped.state, at('2026-01-01T10:30')))).toEqual([])
  })

  test('forgets what it saw while the clock was ahead, and nothing else', () => {
    const now = at('2025-12-31T12:00')
    const ahead = advance(DAILY, true, begun(DAILY), at('2026-01-03T12:00'))
    const right = forgetAhead(DAILY, ahead.state, now)
    expect([right?.state.status, right?.nextMs]).toEqual(['idle', at('2026-01-01T10:00')])
    expect(right && forgetAhead(DAILY, right.state, now)).toBeNull()
    // By clocks of other nodes.
    expect(forgetAhead(DAILY, begun(DAILY), at('2025-12-30T23:59'))).toBeNull()
    expect(forgetAhead(DAILY, begun(DAILY), at('2025-12-30T23:58'))).not.toBeNull()
    const early = beginByHand(DAILY, begun(DAILY), now).state
    const stopped = endByHand(DAILY, early, now).state
    // The first one does not begin again after the second one was begun before its time, too.
    const twice = beginByHand(DAILY, stopped, now).state
    for (const state of [early, stopped, twice, endByHand(DAILY, twice, now).state])
      expect(forgetAhead(DAILY, state, now)).toBeNull()
    // What began meanwhile ends when its time is over, or when the next one begins.
    const began = advance(DAILY, true, begun(DAILY), at('2026-01-03T10:30')).state
    const running = forgetAhead(DAILY, began, now)
    expect([running?.state.status, running?.nextMs]).toEqual(['active', at('2026-01-01T10:00')])
  })

  test('that was begun by hand before its time does not begin then, unless an edit has it begin at another time', () => {
    const now = at('2025-12-31T12:00')
    const early = beginByHand(DAILY, begun(DAILY), now).state
    const { seenUntilMs } = endByHand(DAILY, early, now).state
    const seen = (after: SchedulePlan, before: SchedulePlan | null = DAILY) =>
      seenAfterEdit({ before, after }, seenUntilMs, now)
    const [longer, earlier, later] = [{ endTime: '12:00' }, { startTime: '09:00' }, { startTime: '10:30' }].map(
      (edit) => plan({ recurrence: 'RRULE:FREQ=DAILY;COUNT=5', ...edit }),
    )
    expect([seen(DAILY), seen(longer ?? DAILY)]).toEqual([at('2026-01-01T10:00'), at('2026-01-01T10:00')])
    expect([seen(earlier ?? DAILY), seen(later ?? DAILY), seen(DAILY, null)]).toEqual([now, now, now])
    expect(seenAfterEdit({ before: DAILY, after: DAILY }, at('2025-12-31T10:00'), now)).toBe(now)
  })

  test('never begins an occurrence twice and never leaves one without an end, whenever it is called', () => {
    const moments = fc.uniqueArray(fc.integer({ min: 0, max: 7 * 24 * 4 }), {
      minLength: 1,
      maxLength: 60,
      size: 'max',
    })
    fc.assert(
      fc.property(moments, (quarters) => {
        let standing = begun(DAILY)
        const seen: string[] = []
        for (const quarter of [...quarters.sort((a, b) => a - b), 40 * 24 * 4]) {
          const done = advance(DAILY, true, standing, at('2026-01-01T00:00') + quarter * 900_000)
          seen.push(
            ...steps(done),
            ...done.skipped.map(({ startMs }) => `skip ${new Date(startMs).toISOString().slice(5, 16)}`),
          )
          standing = done.state
        }
        const starts = seen.filter((step) => !step.startsWith('end')).map((step) => step.split(' ')[1] ?? '')
        expect(starts.sort()).toEqual(['01-01T10:00', '01-02T10:00', '01-03T10:00', '01-04T10:00', '01-05T10:00'])
        expect(standing.status).toBe('terminated')
      }),
    )
  })
})
