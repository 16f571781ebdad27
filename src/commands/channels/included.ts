import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelRecord, INCLUDABLE } from '../../core/channels/channelSchema.ts'
import { type ChannelFailure, validationFailed } from '../../core/channels/errors.ts'
import type { ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { readChannel } from './channels.ts'
import { listDistributions } from './distributions.ts'
import { listEngines } from './engines.ts'
import { listIngests } from './ingests.ts'
import type { ChannelResult, ChannelReader } from './channelCommand.ts'

type Kind = (typeof INCLUDABLE)[number]

/** The beginning of a list that belongs to a channel. */
interface Preview {
  data: unknown[]
  hasMore: boolean
  /** The URL of the whole list. */
  link: string
  count: number
}

export type ChannelWith = { data: ChannelRecord } & Partial<Record<Kind, Preview>>

type List = (
  ctx: ChannelContext,
  reader: ChannelReader,
  id: string,
  query: Record<string, unknown>,
) => ChannelResult<KeysetPage<unknown>>

const LISTS: Readonly<Record<Kind, List>> = {
  ingests: listIngests,
  engines: (ctx, { accountId }, id, query) => listEngines(ctx, accountId, id, query),
  distributions: (ctx, { accountId }, id, query) => listDistributions(ctx, accountId, id, query),
}
const PREVIEW = '10'

/** A channel, and the beginning of each list in `include`. */
export async function readChannelWith(
  ctx: ChannelContext,
  reader: ChannelReader,
  id: string,
  query: Record<string, unknown>,
): ChannelResult<ChannelWith> {
  const kinds = readInclude(query)
  if (!kinds.ok) return kinds
  const channel = await readChannel(ctx, reader.accountId, id)
  if (!channel.ok) return channel
  const answer: ChannelWith = { data: channel.value }
  for (const kind of kinds.value) {
    const page = await LISTS[kind](ctx, reader, id, { limit: PREVIEW })
    if (!page.ok) return page
    const { data, pagination } = page.value
    const count = (await ctx.store.read[kind].ofChannel(id)).length
    answer[kind] = { data, hasMore: pagination.hasMore, link: `/v2/channels/${id}/${kind}`, count }
  }
  return ok(answer)
}

function readInclude({ include, ...others }: Record<string, unknown>): Result<Kind[], ChannelFailure> {
  const wrong: Record<string, string[]> = {}
  for (const name of Object.keys(others).slice(0, 20))
    wrong[name.slice(0, 64)] = ['is not a parameter; allowed: include']
  const named = typeof include === 'string' ? include.split(',') : []
  const kinds = INCLUDABLE.filter((kind) => named.includes(kind))
  const isValid = include === undefined || (typeof include === 'string' && named.every((name) => isKind(name)))
  if (!isValid) wrong['include'] = [`must be out of ${INCLUDABLE.join(', ')}, separated by commas`]
  return Object.keys(wrong).length === 0 ? ok(kinds) : err(validationFailed(wrong))
}

const isKind = (text: string): boolean => INCLUDABLE.some((kind) => kind === text)
