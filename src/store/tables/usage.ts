import { type RawBuilder, sql } from 'kysely'
import { DAY_MS, HOUR_MS } from '../../base/time.ts'
import { beginOf, SLOT_LENGTHS, type SlotLength } from '../../core/zonedSlots.ts'
import { type Executor, inSlices, statement } from '../executor.ts'
import { fieldOf, type FieldsOf } from '../records.ts'
import { RowTable, upsertion } from '../rowTable.ts'
import { namesOf, sqlTypesOf } from '../schema.ts'

/** Slots of a series, and their end. */
export interface Slots {
  /** Their beginnings, in order. */
  readonly slots?: readonly number[]
  readonly untilMs: number
}

const LENGTH_MS = { hour: HOUR_MS, day: DAY_MS, month: 0 } as const

/**
 * The slot that a row is in.
 * @param ms the column of its time, which is not before the first slot
 * @param length its own, and no longer than a slot
 */
export function slotOf(ms: RawBuilder<unknown>, of: Slots, length: SlotLength = 'hour'): RawBuilder<unknown> {
  const [first = { fromMs: 0, stepMs: HOUR_MS }, ...others] = runsOf(of)
  // Each row has a slot of its own. By the column, the order of an index groups them.
  if (others.length === 0 && first.stepMs === LENGTH_MS[length]) return ms
  const slotIn = ({ fromMs, stepMs }: Run) => sql`${ms} - (${ms} - ${sql.lit(fromMs)}) % ${sql.lit(stepMs)}`
  const cases = others.toReversed().map((run) => sql`when ${ms} >= ${sql.lit(run.fromMs)} then ${slotIn(run)}`)
  return cases.length === 0 ? slotIn(first) : sql`case ${sql.join(cases, sql` `)} else ${slotIn(first)} end`
}

/**
 * The sum of a column over a long time, as a number of JavaScript: past 2^53, which a year of bytes may reach, it is rounded.
 * SQLite would not read the whole number.
 */
export const longSum = (column: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`cast(coalesce(sum(${column}), 0) as double precision)`

/** Slots of one length, one after another. */
interface Run {
  readonly fromMs: number
  readonly stepMs: number
}

function runsOf({ slots = [], untilMs }: Slots): Run[] {
  const runs: Run[] = []
  for (const [at, fromMs] of slots.entries()) {
    const stepMs = (slots[at + 1] ?? untilMs) - fromMs
    if (runs.at(-1)?.stepMs !== stepMs) runs.push({ fromMs, stepMs })
  }
  return runs
}

type Row = FieldsOf<'usage'>

/** What a stream, protocol, token, tracking id and country have in one hour. */
export type UsageHour = Omit<Row, 'span' | 'atMs'> & { readonly hourMs: number }

const KEY = ['account_id', 'span', 'stream_name', 'at_ms', 'country', 'protocol', 'token_id', 'tracking_id'] as const

/** A key of its own kind, of two numbers: those of streams are of one. */
const SUMS = sql`1, 0`

/** All who add may do so at the same time, because they lock rows in one order. One who deletes hours locks these first. */
const lockAdding = statement((db) =>
  db.selectNoFrom(sql<number>`pg_advisory_xact_lock_shared(${SUMS}) is null`.as('locked')),
)
const lockTaking = statement((db) => db.selectNoFrom(sql<number>`pg_advisory_xact_lock(${SUMS}) is null`.as('locked')))

/** Until the transaction ends. SQLite has one writer at a time. */
async function lock(executor: Executor, how: typeof lockAdding): Promise<void> {
  if (executor.dialect.name === 'postgres') await executor.run(how, {})
}

/**
 * Adds hours to the sums of all nodes. Nodes share the rows of a popular stream, and those of the account, so this comes last
 * in its transaction: the rows stay locked until the commit.
 */
export async function addToHours(executor: Executor, hours: readonly UsageHour[]): Promise<void> {
  if (hours.length === 0) return
  await lock(executor, lockAdding)
  await add(executor, merged(hours.flatMap(rowsOf)))
}

/**
 * Deletes at most `limit` hours, the oldest first, and takes their bytes from the rows by day and month and from those of the
 * account, so that each row stays the sum of its hours. Other transactions add none until this one ends. Returns what it
 * deleted.
 * @param chosen a condition of `old`; the index that finds its rows begins with it
 */
export async function takeHours(
  executor: Executor,
  chosen: RawBuilder<unknown>,
  limit: number,
): Promise<readonly UsageHour[]> {
  const key = (of: string) => sql.join(KEY.map((column) => sql.ref(`${of}.${column}`)))
  const columns = namesOf('usage').filter((column) => column !== 'span')
  await lock(executor, lockTaking)
  const fields = columns.map((column) => sql`${sql.ref(column)} as ${sql.ref(fieldOf(column))}`)
  const deleted = await executor.ask(
    () => sql<Omit<Row, 'span'>>`delete from usage where (${key('usage')}) in (select ${key('old')} from usage as old
      where old.span = 'hour' and old.stream_name <> '' and ${chosen} order by old.at_ms limit ${limit})
      returning ${sql.join(fields)}`,
  )
  const hours = deleted.map(({ atMs, ...row }) => ({ ...row, hourMs: atMs }))
  const others = merged(hours.flatMap((hour) => rowsOf(hour).slice(1)).map(negative))
  await add(executor, others)
  await inSlices(others, (slice) => executor.run(deleteEmpty, NAMED.params(executor, slice)))
  return hours
}

/** The rows of an hour, its own first: of the stream and of the account, by hour, day and month. */
const rowsOf = ({ hourMs, ...hour }: UsageHour): Row[] =>
  SLOT_LENGTHS.flatMap((span) => {
    const row = { ...hour, span, atMs: beginOf(span, hourMs) }
    return [row, { ...row, streamName: '', tokenId: 0, trackingId: '' }]
  })

const negative = (row: Row): Row => ({
  ...row,
  bytesIn: -row.bytesIn,
  bytesOut: -row.bytesOut,
  cacheBytes: -row.cacheBytes,
})

/**
 * One row for each key, in the order of every lock on several rows, so that two nodes that add to the same ones cannot deadlock.
 * Those of accounts come last, because all of an account's streams need them.
 */
function merged(rows: readonly Row[]): Row[] {
  const sums = new Map<string, Row>()
  for (const row of rows) {
    const { accountId, span, streamName, atMs, protocol, tokenId, trackingId, country } = row
    const isOfAccount = streamName === ''
    const key = JSON.stringify([isOfAccount, accountId, span, streamName, atMs, protocol, tokenId, trackingId, country])
    const sum = sums.get(key)
    sums.set(key, sum === undefined ? row : sumOf(sum, row))
  }
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

const sumOf = (a: Row, b: Row): Row => ({
  ...a,
  bytesIn: a.bytesIn + b.bytesIn,
  bytesOut: a.bytesOut + b.bytesOut,
  cacheBytes: a.cacheBytes + b.cacheBytes,
})

const add = upsertion({ table: 'usage', key: KEY, merged: (before, now) => sql`${before} + ${now}` })

const TYPES = sqlTypesOf('usage')
const NAMED = new RowTable('named', Object.fromEntries(KEY.map((column) => [column, TYPES[column]])))

/** Of these rows those without bytes. */
const deleteEmpty = statement(
  (
    _,
    p: ReturnType<typeof NAMED.params>,
    dialect,
  ) => sql`delete from usage where (${sql.join(KEY.map((column) => sql.ref(column)))}) in (select ${NAMED.names}
      from ${NAMED.from(p, dialect)}) and bytes_in = 0 and bytes_out = 0 and cache_bytes = 0`,
)
