import { viewerKey } from '../../base/viewerKey.ts'
import { compilePlayback, type PlaybackRules } from '../../core/channels/playback.ts'
import type { CommandContext } from '../context.ts'
import { openKey } from './distributionKey.ts'
import { isId } from './channelCommand.ts'

type Verify = PlaybackRules['keys'][number]['verify']

/** The rules by which a distribution is played. Null: there is no such distribution. */
export async function loadPlayback(
  ctx: Pick<CommandContext, 'store' | 'sealer'>,
  id: string,
): Promise<PlaybackRules | null> {
  const { read } = ctx.store
  const distribution = isId(id) ? await read.distributions.find(id) : undefined
  if (!distribution) return null
  const engines = await read.engines.ofChannel(distribution.channelId)
  const keys = (await read.distributionKeys.list(id)).map((stored) => {
    const key = viewerKey(openKey(ctx, stored))
    const verify: Verify = ({ alg, signingInput, signature }) => key.verify(alg, signingInput, signature)
    return { id: stored.id, verify }
  })
  return compilePlayback(distribution, engines, keys)
}
