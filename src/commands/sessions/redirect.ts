import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import {
  type ReachedLimit,
  type Redirection,
  SESSION_LIMITS,
  type SessionLimitCode,
  type TurnedAway,
} from '../../core/access/refusals.ts'
import { type Credential, type Evaluation, tokenOf } from '../../core/access/types.ts'
import type { AccessAttempt } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { nodeWithRoom, regionsOfStream } from '../regions/nodeWithRoom.ts'
import type { SessionRequest } from './entry.ts'

/** Limits of a node. The others are of the client, at whichever node. */
const OF_NODE: ReadonlySet<SessionLimitCode> = new Set(['too_many_sessions', 'node_full'])

/**
 * Where a client goes on that a limit refuses: to a node that has room, if the client can follow. Else the limit.
 * @param credential what the client presents; null: not known yet
 */
export async function withFreeNode(
  ctx: SessionContext,
  attempt: Pick<AccessAttempt, 'action' | 'protocol' | 'accountId' | 'streamName'>,
  { followsRedirects = false }: Pick<SessionRequest, 'followsRedirects'>,
  reached: ReachedLimit,
  credential: Credential | null,
): Promise<TurnedAway> {
  if (!followsRedirects || !OF_NODE.has(reached.code) || !isServedByOthers(ctx, attempt)) return reached
  const nodeUrl = await nodeWithRoom(ctx, regionsTaking(ctx, attempt, credential))
  if (nodeUrl === null) return reached
  const why = reached.step?.detail ?? SESSION_LIMITS[reached.code].text
  const detail = `${why}; redirected to ${nodeUrl}`
  return { nodeUrl, step: { check: 'node', outcome: 'fail', detail } }
}

/** Where a publisher goes on whose token is for another region; null: it cannot follow, or no node there has room. */
export async function toRegionOfToken(
  ctx: SessionContext,
  { request, decision }: Evaluation,
  { followsRedirects = false }: Pick<SessionRequest, 'followsRedirects'>,
): Promise<Redirection | null> {
  if (decision.allowed || decision.code !== 'region_not_allowed' || !followsRedirects) return null
  const nodeUrl = await nodeWithRoom(ctx, regionsOfToken(request.credential))
  if (nodeUrl === null) return null
  return { nodeUrl, step: { check: 'node', outcome: 'pass', detail: `redirected to ${nodeUrl}` } }
}

/** The regions whose nodes take who presents this to publish; null: all. */
function regionsOfToken(credential: Credential): readonly string[] | null {
  const region = tokenOf(credential)?.originRegion ?? null
  return region === null ? null : [region]
}

/** The regions whose nodes take a client; null: all. @param credential null: not known yet */
const regionsTaking = (
  ctx: SessionContext,
  { action, accountId, streamName }: Pick<AccessAttempt, 'action' | 'accountId' | 'streamName'>,
  credential: Credential | null,
): readonly string[] | null => {
  if (action === 'publish') return credential && regionsOfToken(credential)
  return accountId === null ? null : regionsOfStream(ctx, { accountId, streamName })
}

/** A viewer over WebRTC has the streams of other nodes only where nodes lend them. */
const isServedByOthers = (
  { cascade }: SessionContext,
  { action, protocol }: Pick<AccessAttempt, 'action' | 'protocol'>,
): boolean => action === 'publish' || cascade.isOn || !PROTOCOL_FACTS[protocol].usesMediaProcess
