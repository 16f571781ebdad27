import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import type { TracedLimit } from '../../core/access/refusals.ts'
import type { AccessRequest } from '../../core/access/types.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import type { AccessContext } from '../context.ts'

/** `accountId` is that of the stream; null while it is not known. */
type Newcomer = Pick<AccessRequest, 'action' | 'protocol' | 'accountId' | 'streamName'>

/** The refusal of a newcomer by the load of this node; null: it takes one. */
export function loadReached(ctx: AccessContext, newcomer: Newcomer): TracedLimit | null {
  const { action, protocol, accountId, streamName } = newcomer
  if (isRedirected(ctx, newcomer)) return null
  const room = accountId === null ? null : streamIdOf({ accountId, streamName })
  const step = ctx.nodeLoad.refusalOf({ action: action === 'publish' ? 'publish' : 'view', protocol, room })
  return step === null ? null : { code: 'node_full', step }
}

/** To send a viewer on to the node of the feed costs nothing. Over HLS, and with links, this node would serve it. */
function isRedirected(
  { sessions, cascade }: AccessContext,
  { action, protocol, accountId, streamName }: Newcomer,
): boolean {
  if (cascade.isOn || action === 'publish' || accountId === null || !PROTOCOL_FACTS[protocol].usesMediaProcess)
    return false
  const isHere = sessions.feeds.get(accountId, streamName, null) !== undefined
  return !isHere && sessions.feeds.remotesOf(accountId, streamName).length > 0
}
