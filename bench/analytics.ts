/**
 * The reports of the page Analytics over 13 months of 100 streams. Prints the slowest question of each span as a share of the
 * limit, with its parts. Each is asked over HTTP, as the page asks, on a database that was filled for it.
 *
 * With `--postgres` it is a PostgreSQL that this starts.
 *
 *   node bench/analytics.ts [--postgres]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { readCommandLine } from '../scripts/commandLine.ts'
import { DAY_MS, HOUR_MS } from '../src/base/time.ts'
import {
  AUDIENCE_DIMENSIONS,
  type AudienceRow,
  type AudienceSlot,
  entryOf,
  type Figures,
  noFigures,
  noParts,
  toLonger,
  toRow,
} from '../src/core/audience/slots.ts'
import { beginOf } from '../src/core/zonedSlots.ts'
import { findBinaries, startPostgres } from '../test/support/postgres.setup.ts'
import { startTestNode } from '../test/support/testNode.ts'
import { median, report } from './lib/report.ts'

const LIMIT_MS = 300
const ROUNDS = 3
const STREAMS = 100
const DAYS = 396
/** Hours of a day in which a stream is on the air. */
const ON_AIR = 4
/** No report reads older hours of an audience. */
const HOURS_DAYS = 70
const VIEWERS = 30
const VALUES = {
  protocol: ['whep', 'hls'],
  country: ['DE', 'AT', 'CH', 'NL', 'FR', 'PL', 'US', 'BR'],
  site: ['', 'https://a.example', 'https://b.example'],
  device: ['desktop', 'mobile', 'tablet'],
  browser: ['Chrome', 'Safari', 'Firefox', 'Edge'],
} as const

const KEY = 'account_id, span, at_ms, protocol, country, stream_name, token_id, tracking_id'

const { values: flags } = readCommandLine({ options: { postgres: { type: 'boolean', default: false } } })
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const postgres = flags.postgres ? await startPostgres(findBinaries() ?? '') : undefined
const url = postgres?.url ?? join(folder, 'store.db')
const at = await startTestNode({ url })
const untilMs = beginOf('hour', Date.now())
await fillAudience()
await fillUsage()
for (const [name, days] of [
  ['a day', 1],
  ['28 days', 28],
  ['13 months', DAYS],
] as const)
  for (const timeZone of ['UTC', 'Europe/Berlin']) await measure(name, days, timeZone)
await at.close()
await postgres?.remove()
rmSync(folder, { recursive: true })

async function measure(name: string, days: number, timeZone: string): Promise<void> {
  const times: [path: string, ms: number][] = []
  for (const path of questions(days, timeZone)) times.push([path, await timed(path)])
  const [slowest] = times.toSorted(([, one], [, other]) => other - one)
  if (slowest === undefined) return
  const [path, ms] = slowest
  const all = times.map(([, one]) => one.toFixed(0)).join(', ')
  const ratio = ms / LIMIT_MS
  const detail = `${ms.toFixed(0)} ms: ${path}; all: ${all}`
  report({ what: `${name}, ${timeZone}, to the limit`, ratio, target: '1.00', met: ratio <= 1, detail })
}

/** What the page asks for a span, with each division and with filters, and the reports of bytes that only the API has. */
function questions(days: number, timeZone: string): string[] {
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  const resolution = days === 1 ? 'Hour' : 'Day'
  const query = { startDate: day(untilMs - (days - 1) * DAY_MS), stopDate: day(untilMs + DAY_MS), timeZone }
  const ask = (path: string, more: Record<string, string> = {}, names: readonly string[] = []) =>
    `/api/analytics/${path}?${[new URLSearchParams({ ...query, ...more }).toString(), ...names].join('&')}`
  const bytes = { mediaOnly: 'true' }
  // Ten of them cost ten times as much.
  const [streams, customers] = [['streamNames=stream-7'], ['trackingIds=customer-7']]
  return [
    ask('account/total', bytes),
    ask('account/series', { ...bytes, resolution }),
    ask('account/geo_total', bytes),
    ask('account/protocol_total', bytes),
    ask('account/token_total', bytes),
    ask('account/geo_series', { ...bytes, resolution }),
    ask('streams/total', {}, streams),
    ask('streams/series', { resolution }, streams),
    ask('streams/geo_total', {}, streams),
    ask('streams/geo_series', { resolution }, streams),
    ask('tracking/ids', { limit: '100' }),
    ask('tracking/streams/total', {}, streams),
    ask('tracking/streams/series', { resolution }, streams),
    // They cover at most 366 days.
    ...(days > 366 ? [] : [ask('tracking/total', {}, customers), ask('tracking/series', { resolution }, customers)]),
    ...['streamName', ...AUDIENCE_DIMENSIONS].map((by) => ask('audience', { resolution, by })),
    ask('audience', { resolution, streamName: 'stream-7', by: 'country' }),
    ask('audience', { resolution, country: 'DE', ...(days <= 31 ? { by: 'streamName' } : {}) }),
  ]
}

async function timed(path: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const beganMs = spentMs()
    const { status, json } = await at.call('GET', path)
    times.push(spentMs() - beganMs)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`)
  }
  return median(times)
}

/** SQLite works in this process, so its processor time is what a quiet machine takes. */
function spentMs(): number {
  if (postgres !== undefined) return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Each day is the same, and a month has the figures of a day: reports cost what rows and sketches cost, whatever they count. */
async function fillAudience(): Promise<void> {
  const { store } = at.ctx
  const hours = [...Array(STREAMS).keys()].flatMap(hoursOf)
  const all = [...hours, ...toLonger(hours.map(ofAccount), 'hour')]
  const [hourly, daily] = [all.map(toRow), toLonger(all, 'day').map(toRow)]
  const put = (rows: readonly AudienceRow[], moved: Pick<AudienceRow, 'length'> & { readonly byMs: number }) =>
    store.transaction((tx) =>
      tx.audience.put(rows.map((row) => ({ ...row, length: moved.length, atMs: row.atMs + moved.byMs }))),
    )
  const today = beginOf('day', untilMs)
  for (let days = 1; days <= DAYS; days += 1) {
    const byMs = today - days * DAY_MS
    if (days <= HOURS_DAYS) await put(hourly, { length: 'hour', byMs })
    await put(daily, { length: 'day', byMs })
    const isFirst = beginOf('month', byMs) === byMs
    if (isFirst) await put(daily, { length: 'month', byMs })
  }
  await store.transaction(async (tx) => void (await tx.audience.advance(await tx.audience.nextHour(), untilMs)))
}

/** The audience of a stream in the first day of 1970. */
function hoursOf(stream: number): AudienceSlot[] {
  return [...Array(ON_AIR).keys()].map((hour) => ({
    accountId: at.accountId,
    streamName: `stream-${stream}`,
    length: 'hour',
    atMs: ((stream + hour) % 24) * HOUR_MS,
    ...watched(stream * 1000 + hour * 7),
  }))
}

function ofAccount(slot: AudienceSlot): AudienceSlot {
  return { ...slot, streamName: '' }
}

function watched(seed: number): Pick<AudienceSlot, 'all' | 'parts'> {
  const [all, parts] = [noFigures(), noParts()]
  for (let viewer = 0; viewer < VIEWERS; viewer += 1) {
    const hash = Math.imul(seed + viewer, 0x9e3779b1) >>> 0
    add(all, hash)
    for (const dimension of AUDIENCE_DIMENSIONS) {
      const values = VALUES[dimension]
      add(entryOf(parts[dimension], values[hash % values.length] ?? '', noFigures), hash)
    }
  }
  return { all, parts }
}

function add(figures: Figures, hash: number): void {
  figures.views += 1
  figures.watchMs += 600_000
  figures.most += 1
  figures.viewers.add(hash)
}

/** A row for each stream, hour on the air, protocol and country, and one for its publisher; and the sums of these rows. */
async function fillUsage(): Promise<void> {
  const first = untilMs - DAYS * DAY_MS
  const sql = `with recursive
    days (d) as (select 0 union all select d + 1 from days where d < ${DAYS - 1}),
    streams (s) as (select 0 union all select s + 1 from streams where s < ${STREAMS - 1}),
    hours (h) as (select 0 union all select h + 1 from hours where h < ${ON_AIR - 1}),
    parts (protocol, country) as (values ('rtmp', ''), ${pairs()})
    insert into usage (${KEY}, bytes_in, bytes_out, cache_bytes)
    select '${at.accountId}', 'hour', ${first} + cast(d as bigint) * ${DAY_MS} + cast((s + h) % 24 as bigint) * ${HOUR_MS}, protocol, country,
      'stream-' || s, 1 + s % 20, case when protocol = 'hls' then 'customer-' || (s % 10) else '' end,
      case when protocol = 'rtmp' then 900000000 else 1000 end, case when protocol = 'rtmp' then 1000 else 400000000 end, 0
    from days cross join streams cross join hours cross join parts`
  const all = [sql, ...longer(first)]
  if (postgres === undefined) {
    const db = new DatabaseSync(url)
    for (const one of all) db.exec(one)
    db.exec('analyze')
    return db.close()
  }
  const client = new Client({ connectionString: url })
  await client.connect()
  for (const one of all) await client.query(one)
  await client.query('analyze')
  return client.end()
}

/** The sums by day, by month and of the account. */
function longer(first: number): string[] {
  const begins = Array.from({ length: DAYS / 28 + 2 }, (_, n) => {
    const date = new Date(first)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + n, 1)
  })
  const month = begins.map((ms) => `when at_ms >= ${ms} then ${ms}`).toReversed()
  const spans = { hour: 'at_ms', day: `at_ms - at_ms % ${DAY_MS}`, month: `case ${month.join(' ')} end` }
  const insert = (
    span: string,
    atMs: string,
    named: string,
  ) => `insert into usage (${KEY}, bytes_in, bytes_out, cache_bytes)
    select account_id, '${span}', ${atMs}, protocol, country, ${named}, sum(bytes_in), sum(bytes_out), 0
    from usage where span = 'hour' and stream_name <> '' group by 1, 2, 3, 4, 5, 6, 7, 8`
  return Object.entries(spans).flatMap(([span, atMs]) => [
    ...(span === 'hour' ? [] : [insert(span, atMs, 'stream_name, token_id, tracking_id')]),
    insert(span, atMs, `'', 0, ''`),
  ])
}

function pairs(): string {
  const all = VALUES.protocol.flatMap((protocol) => VALUES.country.map((country) => `('${protocol}', '${country}')`))
  return all.join(', ')
}
