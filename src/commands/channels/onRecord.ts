import type { ChannelContext } from '../context.ts'
import { isId } from './channelCommand.ts'

export type Recorded = 'channel' | 'engine' | 'distribution'

/**
 * Whether something belongs to the account, or did and has left runs or served bytes. Those stay readable while they
 * are stored, because accounts are billed after a channel is deleted. Something that never ran or served anything
 * counts as unknown.
 */
export async function isOnRecord(
  { store: { read } }: ChannelContext,
  accountId: string,
  kind: Recorded,
  id: string,
): Promise<boolean> {
  if (!isId(id)) return false
  if (kind === 'engine') {
    return (await read.engines.get(accountId, id)) !== undefined || read.runs.exist(accountId, { engineId: id })
  }
  if (kind === 'distribution') {
    const of = { distributionId: id }
    return (await read.distributions.get(accountId, id)) !== undefined || read.served.exists(accountId, of)
  }
  if ((await read.channels.get(accountId, id)) !== undefined) return true
  const of = { channelId: id }
  return (await read.runs.exist(accountId, of)) || read.served.exists(accountId, of)
}
