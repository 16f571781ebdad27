import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelFailure, noSuch } from '../../core/channels/errors.ts'
import { readPlainQuery } from '../../core/channels/listQuery.ts'
import { toRegionRecord } from '../../core/channels/region.ts'
import type { ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { type ChannelResult, shortPage } from './channelCommand.ts'

type Region = ReturnType<typeof toRegionRecord>

/** One page of the regions of the configuration, by name. */
export async function listRegions(
  ctx: ChannelContext,
  accountId: string,
  query: Record<string, unknown>,
): ChannelResult<KeysetPage<Region>> {
  const read = readPlainQuery(query)
  if (!read.ok) return read
  return shortPage(ctx, ctx.channelSettings.regions.map(toRegionRecord), {
    scope: { list: 'regions', filters: { accountId } },
    ...read.value,
    direction: 'asc',
    keyOf: ({ id }) => [id],
  })
}

export function readRegionRecord({ channelSettings }: ChannelContext, id: string): Result<Region, ChannelFailure> {
  return channelSettings.regions.includes(id) ? ok(toRegionRecord(id)) : err(noSuch('region', id))
}
