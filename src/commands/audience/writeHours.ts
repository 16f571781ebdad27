import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import { inTurns } from '../../base/turns.ts'
import { measureHour } from '../../core/audience/measure.ts'
import { type AudienceSlot, fromRow, toLonger, toRow } from '../../core/audience/slots.ts'
import { beginOf } from '../../core/zonedSlots.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'

/** After this time the sessions of the hour have ended in the store, also those of a node that died in it. */
const SETTLED_MS = 120_000
/** After a long stop there are more hours, which later runs write. */
const HOURS_AT_ONCE = 48

type AudienceContext = Pick<SessionContext, 'store' | 'clock' | 'audience'>

/**
 * Writes the audience of the hours that are over. Everything is measured again from the sessions and written once, with the
 * mark how far this is, so neither a crash nor a second node can count anything twice. Call it every minute.
 */
export async function writeAudience(ctx: AudienceContext): Promise<void> {
  for (let n = 0; n < HOURS_AT_ONCE; n++) if (!(await writeHour(ctx))) return
}

/** False: no hour is over, or another node writes it. */
async function writeHour(ctx: AudienceContext): Promise<boolean> {
  const { store, clock, audience } = ctx
  const written = await store.read.audience.nextHour()
  if (written > clock.now()) return measureAgain(ctx, written)
  const hourMs = written === 0 ? await firstHour(ctx) : written
  const untilMs = hourMs + HOUR_MS
  if (untilMs + SETTLED_MS > clock.now()) return false
  const sessions = await store.read.audience.sessions({ fromMs: hourMs, untilMs }, audience.seed)
  const hours = await inTurns(measureHour(sessions, hourMs))
  return store.transaction(async (tx) => {
    if (!(await tx.audience.advance(written, untilMs))) return false
    await tx.audience.put(hours.map(toRow))
    await addTo(tx, 'day', hours)
    const isLastOfDay = untilMs % DAY_MS === 0
    if (isLastOfDay)
      await addTo(
        tx,
        'month',
        (await tx.audience.at('day', untilMs - DAY_MS)).map((row) => fromRow(row)),
      )
    return true
  })
}

/**
 * The clock was ahead when hours were written, and has been put back: nothing would be written until the time that it showed. So what
 * was written since the beginning of this day is forgotten, and measured again. Not if the clock would have been ahead by more
 * than a day, as it seems while it is behind by years: the sessions of a long time may have been deleted.
 */
async function measureAgain({ store, clock }: AudienceContext, written: number): Promise<boolean> {
  const nowMs = clock.now()
  if (written - nowMs > DAY_MS) return false
  const [dayMs, monthMs] = [beginOf('day', nowMs), beginOf('month', nowMs)]
  return store.transaction(async (tx) => {
    if (!(await tx.audience.advance(written, dayMs))) return false
    await tx.audience.forget('hour', dayMs)
    await tx.audience.forget('day', dayMs)
    if (written < dayMs + DAY_MS) return true
    // This day is in its month already.
    await tx.audience.forget('month', monthMs)
    for (let ms = monthMs; ms < dayMs; ms += DAY_MS) {
      const day = await tx.audience.at('day', ms)
      await addTo(
        tx,
        'month',
        day.map((row) => fromRow(row)),
      )
    }
    return true
  })
}

async function firstHour({ store, clock }: AudienceContext): Promise<number> {
  const atMs = (await store.read.audience.firstSession()) ?? clock.now()
  return atMs - (atMs % HOUR_MS)
}

/** Adds slots of one day to that day, or of one month to that month. */
async function addTo(tx: Tx, length: 'day' | 'month', slots: readonly AudienceSlot[]): Promise<void> {
  const [first] = slots
  if (first === undefined) return
  const before = await tx.audience.at(length, beginOf(length, first.atMs))
  const sums = toLonger([...before.map((row) => fromRow(row)), ...slots], length)
  const changed = new Set(slots.map(({ accountId, streamName }) => JSON.stringify([accountId, streamName])))
  await tx.audience.put(
    sums.filter(({ accountId, streamName }) => changed.has(JSON.stringify([accountId, streamName]))).map(toRow),
  )
}
