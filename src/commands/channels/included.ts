import { err, ok, type Result } from '../../base/result.ts'
import { type ChannelRecord, INCLUDABLE } from '../../core/channels/channelSchema.ts'
import { type ChannelFailure, validationFailed } from '../../core/channels/errors.ts'
import type { PageRequest } from '../../core/channels/listQuery.ts'
import type { ChannelContext } from '../context.ts'
import type { KeysetPage } from '../pages.ts'
import { readChannel } from './channels.ts'
import { pageOfDistributions } from './distributions.ts'
import { pageOfEngines } from './engines.ts'
import { pageOfIngests } from './ingests.ts'
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

type Page = (
  ctx: ChannelContext,
  reader: ChannelReader,
  channelId: string,
  query: PageRequest,
) => ChannelResult<KeysetPage<unknown>>

const PAGES: Readonly<Record<Kind, Page>> = {
  ingests: pageOfIngests,
  engines: (ctx, _reader, channelId, query) => pageOfEngines(ctx, { channelId }, query),
  distributions: (ctx, _reader, channelId, query) => pageOfDistributions(ctx, channelId, query),
}
const PREVIEW: PageRequest = { limit: 10, cursor: undefined }

/**
 * A channel, and the beginning of each list in `include`.
 * @param prefix what precedes `/v2` in the addresses that the client uses
 */
export async function readChannelWith(
  ctx: ChannelContext,
  reader: ChannelReader,
  id: string,
  query: Record<string, unknown>,
  prefix = '',
): ChannelResult<ChannelWith> {
  const kinds = readInclude(query)
  if (!kinds.ok) return kinds
  const channel = await readChannel(ctx, reader.accountId, id)
  if (!channel.ok) return channel
  const answer: ChannelWith = { data: channel.value }
  for (const kind of kinds.value) {
    const page = await PAGES[kind](ctx, reader, id, PREVIEW)
    if (!page.ok) return page
    const { data, pagination } = page.value
    const count = pagination.hasMore ? await ctx.store.read[kind].count(id) : data.length
    answer[kind] = { data, hasMore: pagination.hasMore, link: `${prefix}/v2/channels/${id}/${kind}`, count }
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
