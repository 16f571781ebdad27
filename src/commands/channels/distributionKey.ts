import type { NewKey } from '../../core/channels/distribution.ts'
import type { Distribution } from '../../core/channels/types.ts'
import type { DistributionKey } from '../../store/store.ts'
import type { ChannelContext, CommandContext } from '../context.ts'
import { newId } from './channelCommand.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'

const { context: KEY_CONTEXT } = SEALED_COLUMNS.distributionKey

/** A distribution key as stored: its text is sealed. */
export function newKey(ctx: ChannelContext, distribution: Distribution, { key, name }: NewKey): DistributionKey {
  return {
    id: newId(ctx, 'ke'),
    accountId: distribution.accountId,
    distributionId: distribution.id,
    name,
    keySealed: ctx.sealer.seal(key, KEY_CONTEXT),
    createdAtMs: ctx.clock.now(),
  }
}

/** The text of a key. Throws if it was sealed with a key that this node does not have. */
export function openKey({ sealer }: Pick<CommandContext, 'sealer'>, { keySealed }: DistributionKey): string {
  const opened = sealer.open(keySealed, KEY_CONTEXT)
  if (!opened.ok) throw new Error(`a viewer key cannot be opened with this node's sealing key: ${opened.error}`)
  return opened.value.toString('utf8')
}
