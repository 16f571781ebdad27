import { randomInt } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { beginOf, SLOT_LENGTHS } from '../../src/core/zonedSlots.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MINUTES = 1440

/** Writes the day before, which no script can wait for, into the store of a running server. */
export function writeHistory(file: string, accountId: string, nowMs: number): void {
  const db = new DatabaseSync(file)
  db.exec('pragma busy_timeout = 10000; begin')
  writeMinutes(db, accountId, nowMs)
  writeHours(db, accountId, nowMs)
  spreadRefusals(db, nowMs)
  db.exec(`update webhooks set url = 'https://api.riverside.example/sluice' where url like 'http://127.%'`)
  db.exec('commit')
  db.close()
}

/** The evening has most viewers. 0 to 1. */
const crowd = (atMs: number): number => (1 + Math.sin((2 * Math.PI * (atMs / HOUR_MS - 14)) / 24)) / 2

function writeMinutes(db: DatabaseSync, accountId: string, nowMs: number): void {
  const insert = db.prepare(
    `insert into account_minutes (account_id, minute_ms, node, viewers, bytes_in, bytes_out)
     values (?, ?, 'before', ?, ?, ?)
     on conflict do nothing`,
  )
  const now = Math.floor(nowMs / MINUTE_MS)
  for (let minute = now - DAY_MINUTES; minute < now; minute++) {
    const wave = 3 * Math.sin(minute / 9) + 2 * Math.sin(minute / 3.7) + randomInt(3)
    const viewers = Math.max(2, Math.round(12 + 22 * crowd(minute * MINUTE_MS) + wave))
    insert.run(accountId, minute * MINUTE_MS, viewers, 71_000_000 + randomInt(5_000_000), viewers * 17_600_000)
  }
}

const STREAMS = ['main-stage', 'harbour-cam', 'u19-match', 'morning-talk'] as const
const COUNTRIES = ['DE', 'AT', 'CH', 'NL', 'FR', 'PL'] as const

function writeHours(db: DatabaseSync, accountId: string, nowMs: number): void {
  const insert = db.prepare(
    `insert into usage
       (account_id, span, at_ms, stream_name, protocol, token_id, tracking_id, country, bytes_in, bytes_out, cache_bytes)
     values (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, 0)
     on conflict do update set bytes_in = usage.bytes_in + excluded.bytes_in, bytes_out = usage.bytes_out + excluded.bytes_out`,
  )
  const now = Math.floor(nowMs / HOUR_MS)
  for (let hour = now - 28 * 24; hour < now; hour++)
    for (const [at, stream] of STREAMS.entries())
      for (const [place, country] of COUNTRIES.entries()) {
        const bytes = (crowd(hour * HOUR_MS) + 0.15) * (1.6e9 / (at + 1) / (place + 1)) * (0.8 + randomInt(40) / 100)
        const protocol = place % 2 === 0 ? 'whep' : 'hls'
        const tracking = `customer-${(at + place) % 5}`
        const sums = [country, place === 0 ? 9e8 : 0, Math.round(bytes)] as const
        for (const span of SLOT_LENGTHS) {
          const atMs = beginOf(span, hour * HOUR_MS)
          insert.run(accountId, span, atMs, stream, protocol, tracking, ...sums)
          insert.run(accountId, span, atMs, '', protocol, '', ...sums)
        }
      }
}

/** Refusals come over the day, and not all in one minute. */
function spreadRefusals(db: DatabaseSync, nowMs: number): void {
  const rows = db.prepare('select id from access_log where allowed = 0 order by at_ms desc').all() as { id: string }[]
  const move = db.prepare('update access_log set at_ms = ?, last_at_ms = ? where id = ?')
  for (const [at, { id }] of rows.entries()) {
    const atMs = nowMs - 40_000 - Math.round(at ** 1.7 * 130_000)
    move.run(atMs, atMs, id)
  }
}
