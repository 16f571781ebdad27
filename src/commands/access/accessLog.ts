import { err, ok, type Result } from '../../base/result.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { readAccessLogQuery } from '../../core/access/logQuery.ts'
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

/** A row in the format of the interface, without unknown fields. */
function toEntry(row: AccessLogRow) {
  return {
    id: row.id,
    at: new Date(row.atMs).toISOString(),
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
    lastAt: new Date(row.lastAtMs).toISOString(),
  }
}
