import { err, type Result } from '../../base/result.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import type { Mac } from '../../core/pages/cursor.ts'
import { readTrackedQuery } from '../../core/usage/trackedQuery.ts'
import type { TrackingIdUsage } from '../../store/store.ts'
import type { SessionContext } from '../context.ts'
import { type KeysetPage, mapPage, paginate } from '../pages.ts'
import { writeUsage } from '../sessions/writeUsage.ts'

/** Without caches it has no field for them. */
type TrackedBytes = Omit<TrackingIdUsage, 'bytesFromCaches'> & Partial<Pick<TrackingIdUsage, 'bytesFromCaches'>>

/** One page of the tracking ids that had traffic in a time, in the order of their code points. */
export async function listTrackingIds(
  ctx: SessionContext,
  mac: Mac,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<KeysetPage<TrackedBytes>, Failure>> {
  const read = readTrackedQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { limit, cursor, ...filter } = read.value
  await writeUsage(ctx, Number.POSITIVE_INFINITY)
  const page = await paginate(mac, {
    scope: { list: 'tracking_ids', filters: { accountId, ...filter } },
    limit,
    cursor,
    keyOf: (row: TrackingIdUsage) => [row.trackingId],
    read: ([after], most) =>
      ctx.store.read.usage.tracked({
        accountId,
        ...filter,
        after: typeof after === 'string' ? after : '',
        limit: most,
      }),
  })
  return mapPage(page, ({ trackingId, bytesOut, bytesIn, bytesFromCaches }) => ({
    trackingId,
    bytesOut,
    bytesIn,
    ...(bytesFromCaches === 0 ? {} : { bytesFromCaches }),
  }))
}
