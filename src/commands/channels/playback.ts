import { viewerKey } from '../../base/viewerKey.ts'
import { compilePlayback, type PlaybackRules } from '../../core/channels/playback.ts'
import type { CommandContext } from '../context.ts'
import type { Engine } from '../../core/channels/types.ts'
import { remoteEngine } from './remoteEngine.ts'
import { openKey } from './distributionKey.ts'
import { isId } from './channelCommand.ts'

type Verify = PlaybackRules['keys'][number]['verify']

export interface ThisNode {
  /** The name of this process, as `Measured` has it. */
  readonly processName: string
  /** Whether this node has the HLS of an engine. */
  readonly runs: (engineId: string) => boolean
}

/** The rules by which a distribution is played. Null: there is no such distribution. */
export async function loadPlayback(
  ctx: Pick<CommandContext, 'store' | 'sealer'>,
  here: ThisNode,
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
  const channel = await read.channels.get(distribution.accountId, distribution.channelId)
  return compilePlayback(distribution, engines, keys, await nodesOf(ctx, here, engines), channel?.slate?.id)
}

async function nodesOf(
  ctx: Pick<CommandContext, 'store'>,
  { processName, runs }: ThisNode,
  engines: readonly Engine[],
): Promise<PlaybackRules['nodes']> {
  const nodes = new Map<string, string>()
  for (const { id, status } of engines) {
    if (status === 'stopped' || runs(id)) continue
    const url = (await remoteEngine(ctx, processName, id))?.node?.url
    if (url) nodes.set(id, url)
  }
  return nodes
}
