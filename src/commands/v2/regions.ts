import { err, ok, type Result } from '../../base/result.ts'
import { type LiveFailure, noSuch } from '../../core/live/errors.ts'
import { readPlainQuery } from '../../core/live/listQuery.ts'
import { toRegionRecord } from '../../core/live/region.ts'
import type { Context } from '../context.ts'
import type { KeysetPage } from '../keysetPage.ts'
import { type Answered, shortPage } from './shared.ts'

type Region = ReturnType<typeof toRegionRecord>

/** One page of the regions of the configuration, by name. */
export async function listRegions(
  ctx: Context,
  accountId: string,
  query: Record<string, unknown>,
): Answered<KeysetPage<Region>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  return shortPage(ctx, ctx.liveSettings.regions.map(toRegionRecord), {
    scope: { list: 'regions', filters: { accountId } },
    ...read.value,
    direction: 'asc',
    keyOf: ({ id }) => [id],
  })
}

export function readRegionRecord({ liveSettings }: Context, id: string): Result<Region, LiveFailure> {
  return liveSettings.regions.includes(id) ? ok(toRegionRecord(id)) : err(noSuch('region', id))
}
