import { fraction } from '../../base/random.ts'
import { VERSION } from '../../base/version.ts'
import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import { type ReachedLimit, SESSION_LIMITS, type SessionLimitCode } from '../../core/access/refusals.ts'
import { freeNode } from '../../core/nodes/freeNode.ts'
import type { AccessAttempt } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import type { SessionRequest } from './entry.ts'

/** Limits of a node. The others are of the client, at whichever node. */
const OF_NODE: ReadonlySet<SessionLimitCode> = new Set(['too_many_sessions', 'node_full'])

/** The limit that refuses the client, with the node that takes the client instead: it can follow, and one has room. */
export async function withFreeNode(
  ctx: SessionContext,
  attempt: Pick<AccessAttempt, 'action' | 'protocol'>,
  { followsRedirects = false }: Pick<SessionRequest, 'followsRedirects'>,
  reached: ReachedLimit,
): Promise<ReachedLimit> {
  if (!followsRedirects || !OF_NODE.has(reached.code) || !isServedByOthers(ctx, attempt)) return reached
  const nodeUrl = freeNode(await ctx.otherNodes.list(), { version: VERSION, region: ctx.region }, fraction(ctx.random))
  if (nodeUrl === null) return reached
  const why = reached.step?.detail ?? SESSION_LIMITS[reached.code].text
  const detail = `${why}; redirected to ${nodeUrl}`
  return { code: reached.code, nodeUrl, step: { check: 'node', outcome: 'fail', detail } }
}

/** A viewer over WebRTC has the streams of other nodes only where nodes lend them. */
const isServedByOthers = (
  { cascade }: SessionContext,
  { action, protocol }: Pick<AccessAttempt, 'action' | 'protocol'>,
): boolean => action === 'publish' || cascade.isOn || !PROTOCOL_FACTS[protocol].usesMediaProcess
