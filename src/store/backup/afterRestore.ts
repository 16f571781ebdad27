import { isoTime } from '../../base/time.ts'
import { coded, say } from '../../core/notices.ts'
import type { DialectName } from '../executor.ts'
import { saidColumn } from '../said.ts'

/** What a restored database has to forget, as counts for the operator. */
export interface Reset {
  readonly sessions: number
  readonly deliveries: number
}

/** The beginning of the UTC day and of the UTC month of `hour_ms`. */
const DAY = 'hour_ms - hour_ms % 86400000'
const MONTH: Readonly<Record<DialectName, string>> = {
  sqlite: `unixepoch(hour_ms / 1000, 'unixepoch', 'start of month') * 1000`,
  postgres: `cast(extract(epoch from date_trunc('month', to_timestamp(hour_ms / 1000) at time zone 'UTC')) as bigint) * 1000`,
}

/** Adds what nodes had not added yet to the sums of streams and of accounts, as `addToHours` does. */
function addUsage(dialect: DialectName): string[] {
  const spans = { hour: 'hour_ms', day: DAY, month: MONTH[dialect] }
  const names = ['stream_name, token_id, tracking_id', `'', 0, ''`]
  const key = 'account_id, span, at_ms, protocol, country, stream_name, token_id, tracking_id'
  return Object.entries(spans).flatMap(([span, atMs]) =>
    names.map(
      (named) => `insert into usage (${key}, bytes_in, bytes_out, cache_bytes)
        select account_id, '${span}', ${atMs}, protocol, country, ${named}, sum(bytes_in), sum(bytes_out), 0
          from node_usage group by 1, 2, 3, 4, 5, 6, 7, 8
        on conflict (${key}) do update set bytes_in = usage.bytes_in + excluded.bytes_in,
          bytes_out = usage.bytes_out + excluded.bytes_out`,
    ),
  )
}

/**
 * The statements that make a copy of a database that was in use into one that no process uses. The server that the backup
 * is of went on: it sent what was waiting, and its sessions ended there. So nothing that was waiting is sent from here,
 * ends are written without events, and nothing is leased. All are one transaction.
 * @param nowMs the time of the restore
 * @param backupMs the time of the backup: the last known time of what was under way
 */
export function resetStatements(dialect: DialectName, nowMs: number, backupMs: number): string[] {
  const atLeast = (column: string) => `case when ${column} > ${backupMs} then ${column} else ${backupMs} end`
  return [
    // A delivery without the number of its attempt is never retried.
    `update deliveries set state = 'unknown', ended_at_ms = ${nowMs}, attempt = null, not_before_ms = null,
      error = '${saidColumn(say(coded('delivery_restored')))}'
      where state in ('pending', 'waiting', 'started')`,
    'delete from outbox',
    // The probe at the end of a pause would send the newest missed event again.
    'update webhooks set disabled_until_ms = null, disabled_reason = null, probed_at_ms = null, failures_in_row = 0',
    `update sessions set ended_at_ms = ${atLeast('started_at_ms')}, end_reason = 'lost', kick = null where ended_at_ms is null`,
    `update feeds set ended_at_ms = ${atLeast('started_at_ms')}, reading = null where ended_at_ms is null`,
    'update viewing set viewed = 0 where viewed = 1',
    `update recordings set state = 'error', ended_at_ms = coalesce(ended_at_ms, ${atLeast('started_at_ms')}),
      problem = '${saidColumn(say(coded('recording_restored')))}' where state in ('recording', 'processing')`,
    `update runs set ended_at_ms = case when heartbeat_at_ms > started_at_ms then heartbeat_at_ms else started_at_ms end,
      stop_type = 'error', stop_id = '' where ended_at_ms is null`,
    'update engine_states set node = null, alive_until_ms = null',
    'delete from ingest_claims',
    `update engines set status = 'stopped', status_message = null where status <> 'stopped'`,
    `update channels set status = 'stopped' where status <> 'stopped'`,
    ...addUsage(dialect),
    'delete from node_usage',
    'delete from stream_nodes',
    'delete from viewer_seats',
    'delete from viewer_holders',
    'delete from node_facts',
    'delete from serving_nodes',
    'delete from reload_requests',
    'delete from delivery_nodes',
    'update acme_renewals set leased_until_ms = null, due_at_ms = 0, failures = 0, problem = null',
    // Users may have signed out, and links may have been used, after the backup.
    'delete from dashboard_sessions',
    'delete from setup_codes where used_at_ms is null',
    // Positions of another database server mean nothing here.
    'delete from changes',
    `update meta set value = 0 where key = 'changes_floor'`,
    `insert into audit (account_id, at_ms, actor, action, subject)
      select id, ${nowMs}, 'cli', 'backup.restore', '${isoTime(backupMs)}' from accounts`,
  ]
}

/** Counts what `resetStatements` will end; one row with `sessions` and `deliveries`. */
export const COUNT_UNDER_WAY = `select
  (select count(*) from sessions where ended_at_ms is null) as sessions,
  (select count(*) from deliveries where state in ('pending', 'waiting', 'started')) + (select count(*) from outbox) as deliveries`
