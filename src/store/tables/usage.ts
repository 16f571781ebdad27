import { sql } from 'kysely'
import type { Bytes } from '../../core/sessions/types.ts'
import type { SessionTable } from '../schema.ts'
import { inSlices, type Session } from '../session.ts'

const HOUR_MS = 3_600_000

type Total = Bytes & { id: string }
type Counted = Pick<
  SessionTable,
  'account_id' | 'stream_name' | 'protocol' | 'token_id' | 'tracking_id' | 'country' | 'bytes_in' | 'bytes_out'
> & { id: string }

/**
 * Writes totals of sessions that are on, and what is new in them to their hour. What is new is the difference to what is
 * stored, read under a lock, so a writer that does not know whether it was heard may say the same again.
 */
export async function countUsage(session: Session, totals: readonly Total[], atMs: number): Promise<string[]> {
  const gone: string[] = []
  await inSlices(totals, async (slice) => {
    gone.push(...(await countSlice(session, slice, atMs)))
  })
  return gone
}

async function countSlice(session: Session, totals: readonly Total[], atMs: number): Promise<string[]> {
  const stored = await lockCounted(session, totals)
  const rises = totals.flatMap((total) => {
    const before = stored.get(total.id)
    return before === undefined ? [] : [riseOf(before, total)]
  })
  const risen = rises.filter(({ bytesIn, bytesOut }) => bytesIn > 0 || bytesOut > 0)
  if (risen.length > 0) {
    await writeTotals(session, risen)
    await addToHours(session, risen, Math.floor(atMs / HOUR_MS) * HOUR_MS)
  }
  return totals.filter(({ id }) => !stored.has(id)).map(({ id }) => id)
}

async function lockCounted(session: Session, totals: readonly Total[]): Promise<Map<string, Counted>> {
  const ids = totals.map(({ id }) => id)
  const rows = await session.ask((db, engine) => {
    const open = db
      .selectFrom('sessions')
      .select(['id', 'account_id', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'])
      .select(['bytes_in', 'bytes_out'])
      .where('id', 'in', ids)
      .where('ended_at_ms', 'is', null)
      // One order for everybody, so that two writers never wait for each other.
      .orderBy('id')
    return engine === 'postgres' ? open.forUpdate() : open
  })
  return new Map(rows.map((row) => [row.id, row]))
}

interface Rise extends Bytes {
  readonly of: Counted
}

const riseOf = (of: Counted, total: Total): Rise => ({
  of,
  bytesIn: Math.max(0, total.bytesIn - of.bytes_in),
  bytesOut: Math.max(0, total.bytesOut - of.bytes_out),
})

/** All in one statement: a round trip for each would make a thousand of them. */
async function writeTotals(session: Session, rises: readonly Rise[]): Promise<void> {
  const values = rises.map(
    ({ of, bytesIn, bytesOut }) => sql`(${of.id}, cast(${bytesIn} as bigint), cast(${bytesOut} as bigint))`,
  )
  await session.execute(
    sql`update sessions set bytes_in = bytes_in + rise.column2, bytes_out = bytes_out + rise.column3
      from (values ${sql.join(values)}) as rise where sessions.id = rise.column1`.compile(session.engine.db),
  )
}

async function addToHours(session: Session, rises: readonly Rise[], hourMs: number): Promise<void> {
  const hours = new Map<string, ReturnType<typeof hourOf>>()
  for (const rise of rises) {
    const hour = hourOf(rise, hourMs)
    const { bytes_in: _in, bytes_out: _out, ...key } = hour
    const text = JSON.stringify(Object.values(key))
    const known = hours.get(text)
    if (known) known.bytes_in += hour.bytes_in
    if (known) known.bytes_out += hour.bytes_out
    if (!known) hours.set(text, hour)
  }
  // Sorted, so that two nodes that add to the same rows never wait for each other.
  const sorted = [...hours].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, hour]) => hour)
  await session.change((db) =>
    db
      .insertInto('usage_hourly')
      .values(sorted)
      .onConflict((c) =>
        c
          .columns(['account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id', 'tracking_id', 'country'])
          .doUpdateSet({
            bytes_in: sql`usage_hourly.bytes_in + excluded.bytes_in`,
            bytes_out: sql`usage_hourly.bytes_out + excluded.bytes_out`,
          }),
      ),
  )
}

const hourOf = ({ of, bytesIn, bytesOut }: Rise, hourMs: number) => ({
  account_id: of.account_id,
  hour_ms: hourMs,
  stream_name: of.stream_name,
  protocol: of.protocol,
  token_id: of.token_id ?? 0,
  tracking_id: of.tracking_id ?? '',
  country: of.country ?? '',
  bytes_in: bytesIn,
  bytes_out: bytesOut,
})
