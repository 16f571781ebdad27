import { isoTime } from '../../base/time.ts'
import { isTimeOrderedId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import type { TraceStep } from '../../core/access/types.ts'
import { readAccessLogQuery, readAccessSummaryQuery } from '../../core/access/logQuery.ts'
import type { AccessLogRow } from '../../store/store.ts'
import type { AccessContext } from '../context.ts'
import { type KeysetPage, newestAfter, mapPage, paginate } from '../pages.ts'

export type AccessLogEntry = ReturnType<typeof toEntry>
export type AccessLogPage = KeysetPage<AccessLogEntry>

/** The latest decisions on record, newest first. `filter` has the parameters of `GET /api/access/log`. */
export async function recentDecisions(
  ctx: AccessContext,
  accountId: string,
  filter: Record<string, unknown>,
  limit: number,
): Promise<Result<AccessLogEntry[], Failure>> {
  const read = readAccessLogQuery(filter)
  if (!read.ok) return err(invalid(read.error))
  const { cursor: _cursor, ...found } = read.value
  return ok((await ctx.store.read.accessLog.page({ ...found, accountId, limit })).map(toEntry))
}

/** One page of recorded decisions, newest first. */
export async function listAccessLog(
  ctx: AccessContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<AccessLogPage, Failure>> {
  const read = readAccessLogQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { cursor, limit, ...filter } = read.value
  const page = await paginate(mac, {
    scope: { list: 'access_log', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: AccessLogRow) => [row.atMs, row.id],
    read: async (position, most) => {
      await ctx.recorder.flush()
      return ctx.store.read.accessLog.page({ accountId, ...filter, limit: most, ...newestAfter(position) })
    },
  })
  return mapPage(page, toEntry)
}

/** One recorded decision with its trace, as it was then. */
export async function readAccessLogEntry(
  ctx: AccessContext,
  accountId: string,
  id: string,
): Promise<Result<AccessLogEntry & { trace?: readonly TraceStep[] }, Failure>> {
  if (!isTimeOrderedId(id)) return err(noEntry(id))
  await ctx.recorder.flush()
  const row = await ctx.store.read.accessLog.get(accountId, id)
  if (!row) return err(noEntry(id))
  return ok({ ...toEntry(row), ...(row.trace === null ? {} : { trace: row.trace }) })
}

const noEntry = (id: string): Failure => notFound('id', `No decision with id: ${id.slice(0, 32)}`)

export interface AccessSummary {
  readonly from: string
  readonly until: string
  readonly allowed: number
  readonly refused: number
  /** Refusals by code, the most first. */
  readonly codes: readonly { readonly code: string; readonly count: number }[]
}

/** Counts recorded decisions by code. */
export async function summarizeAccessLog(
  ctx: AccessContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<AccessSummary, Failure>> {
  const read = readAccessSummaryQuery(query, ctx.clock.now())
  if (!read.ok) return err(invalid(read.error))
  await ctx.recorder.flush()
  const counts = await ctx.store.read.accessLog.countCodes({ accountId, ...read.value })
  const { fromMs, untilMs } = read.value
  const codes = counts.flatMap(({ code, count }) => (code === null ? [] : [{ code, count }]))
  return ok({
    from: isoTime(fromMs),
    until: isoTime(untilMs),
    allowed: counts.find(({ code }) => code === null)?.count ?? 0,
    refused: codes.reduce((sum, { count }) => sum + count, 0),
    codes: codes.toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)),
  })
}

/** A row in the format of the interface, without unknown fields. */
function toEntry(row: AccessLogRow) {
  return {
    id: row.id,
    at: isoTime(row.atMs),
    source: row.source,
    action: row.action,
    protocol: row.protocol,
    streamName: row.streamName,
    ...(row.tokenId === null ? {} : { tokenId: row.tokenId }),
    ...(row.jti === null ? {} : { jti: row.jti }),
    address: row.address,
    ...(row.origin === null ? {} : { origin: row.origin }),
    ...(row.country === null ? {} : { country: row.country }),
    allowed: row.allowed,
    ...(row.code === null ? {} : { code: row.code }),
    message: row.message,
    count: row.count,
    lastAt: isoTime(row.lastAtMs),
  }
}
