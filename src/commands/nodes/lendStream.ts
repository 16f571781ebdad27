import { err, ok, type Result } from '../../base/result.ts'
import { mayGoTo } from '../../core/clusters.ts'
import { areNear, linkParent, type LinkNodes } from '../../core/nodes/linkParent.ts'
import {
  SIGNED_FOR_NODE_MS,
  type LinkAnswer,
  linkAnswerText,
  linkKeyText,
  type LinkReferral,
  linkReferralText,
  type LinkRequest,
  linkRequestText,
  type Signed,
} from '../../core/nodes/linkRequest.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import { type LentRoom, newShareSsrc, type RoomShare } from '../../media/engine.ts'
import type { NodeKey } from '../../services/cascade.ts'
import type { SessionContext } from '../context.ts'

/** 401: this is no node of ours. 409: not now, as its lease looks expired. 429: too many requests. 503: nothing is lent. */
export interface LendRefusal {
  readonly status: 401 | 404 | 409 | 429 | 503
  readonly why: string
}

type Answered = Result<Signed<LinkAnswer> | Signed<LinkReferral>, LendRefusal>

const SALT_BYTES = 16

/**
 * Lends a stream to another node, which has admitted viewers of it, or names one of its region that does. It decides on nodes and never on
 * viewers: the other node does that. Only a node with the sealing key and a valid lease gets anything, and a request has an effect once.
 * @throws StoreUnavailable if it cannot look at leases
 */
export async function lendStream(ctx: SessionContext, signed: Signed<LinkRequest>): Promise<Answered> {
  const { lentRooms, sessions } = ctx
  const { code, ...request } = signed
  const key = senderKey(ctx, request, code)
  if (!key.ok) return key
  const nodes = await linkNodes(ctx)
  const from = nodes.get(request.from)
  if (from === undefined) return refuse(401, 'it is no node that serves')
  // So does that of each node for a moment, when the database is back.
  if (!from.hasLease) return refuse(409, 'the lease of the node looks expired')
  const { region } = from
  const { links } = lentRooms
  if (links === null || lentRooms.isFull) return refuse(503, 'this node lends nothing now')
  const { accountId, streamName, feedAt, isDirect } = request
  // A node that has not read for long what is on the air may have viewers without tokens.
  if (needTokens(ctx, request) && !request.isSecured) return NOT_HERE
  const asker = { key: key.value, region }
  if (feedAt !== sessions.node) {
    if (!areNear(request.from, sessions.node, nodes)) return NOT_HERE
    const { cascade } = ctx
    return lend(ctx, signed, asker, (share, ended) => cascade.lendOn(request, feedAt, share, ended))
  }
  const feeds = sessions.feeds.ofStream(accountId, streamName)
  if (feeds.length === 0) return NOT_HERE
  if (!mayGoTo(region, feeds)) return NOT_FOR_REGION
  const children = lentRooms.nodesWith(request, feedAt)
  const parent = isDirect ? null : linkParent(request.from, feedAt, children, nodes)
  if (parent !== null) return ok({ ...parent, code: key.value.code(linkReferralText(code, parent)) })
  return lend(ctx, signed, asker, (share, ended) => links.lend(share, ended))
}

/** Whether viewers of these feeds need tokens, as far as this node knows. */
function needTokens({ sessions }: SessionContext, { accountId, streamName, feedAt }: LinkRequest): boolean {
  const isHere = feedAt === sessions.node
  const remote = () => sessions.feeds.remotesOf(accountId, streamName).filter(({ node }) => node === feedAt)
  return (isHere ? sessions.feeds.ofStream(accountId, streamName) : remote()).some(({ secured }) => secured)
}

/** Null: nothing of the stream is here. */
type LendRoom = (share: RoomShare, ended: () => void) => Promise<LentRoom | null>

/** Notes the room before the engine has answered, so that the next node of the region is sent to this one. */
async function lend(
  ctx: SessionContext,
  { code, ...request }: Signed<LinkRequest>,
  { key, region }: { readonly key: NodeKey; readonly region: string },
  lendRoom: LendRoom,
): Promise<Answered> {
  const { lentRooms, random } = ctx
  const salt = Buffer.from(random.bytes(SALT_BYTES)).toString('base64url')
  const answer = { salt, ssrc: newShareSsrc(random) }
  const ending = new AbortController()
  let lentRoom: LentRoom | null = null
  const { from: to, accountId, streamName, feedAt, isSecured } = request
  const stream = { accountId, streamName }
  const figures = () => lentRoom?.figures() ?? null
  const lent = { to, region, stream, feedAt, isSecured, figures, end: () => ending.abort() }
  ending.signal.addEventListener('abort', () => lentRooms.remove(lent))
  lentRooms.add(lent)
  const share = {
    room: streamIdOf(stream),
    ssrc: answer.ssrc,
    key: key.derive(linkKeyText(request, answer)),
  }
  lentRoom = await lendRoom(share, lent.end).catch((error: unknown) => {
    lent.end()
    throw error
  })
  if (lentRoom === null || ending.signal.aborted) {
    lentRoom?.end()
    lent.end()
    return NOT_HERE
  }
  ending.signal.addEventListener('abort', () => lentRoom?.end())
  const answered = { ...answer, addresses: lentRoom.addresses }
  return ok({ ...answered, code: key.code(linkAnswerText(code, answered)) })
}

/**
 * Ends what nodes have of this one that were given up. A lease that looks expired is no reason: after an outage of the database those of
 * all nodes do. Call it every few seconds.
 */
export async function endOrphanedLinks({ lentRooms, store }: SessionContext): Promise<void> {
  if (lentRooms.nodes.length === 0) return
  const nodes = await store.read.nodes.list()
  const alive = new Set(nodes.map(({ id }) => id))
  lentRooms.endIf(({ to }) => !alive.has(to))
}

/** A node that drains lends nothing on, so that others of its region find another way before it ends. Call it every second. */
export function endLentOn({ lentRooms, sessions }: SessionContext): void {
  if (sessions.drain !== null) lentRooms.endIf(({ feedAt }) => feedAt !== sessions.node)
}

/** The key with which the request was signed. */
function senderKey(ctx: SessionContext, request: LinkRequest, code: string): Result<NodeKey, LendRefusal> {
  const { clock, lentRooms, nodeKeys, sessions } = ctx
  const text = linkRequestText(request)
  const key = nodeKeys.find((one) => one.isOf(text, code))
  if (key === undefined) return refuse(401, 'the code is wrong')
  if (request.to !== sessions.node) return refuse(401, 'it is for another node')
  const { atMs, nonce } = request
  if (Math.abs(clock.now() - atMs) > SIGNED_FOR_NODE_MS) return refuse(401, 'it is too old')
  const use = lentRooms.useNonce(nonce, atMs + SIGNED_FOR_NODE_MS)
  if (use === 'fresh') return ok(key)
  return use === 'used' ? refuse(401, 'it came before') : refuse(429, 'there are too many requests')
}

async function linkNodes({ store }: SessionContext): Promise<LinkNodes> {
  const [rows, facts] = await Promise.all([store.read.nodes.list(), store.read.nodes.facts()])
  return new Map(
    rows.map(({ id, url, isExpired, drainingSinceMs }) => {
      const region = facts.get(id)?.region ?? ''
      return [id, { region, url, hasLease: !isExpired, isDraining: drainingSinceMs !== null }]
    }),
  )
}

const refuse = (status: LendRefusal['status'], why: string): Result<never, LendRefusal> => err({ status, why })

const NOT_FOR_REGION = refuse(404, 'the stream is not for the region of the node')
const NOT_HERE = refuse(404, 'the stream is not here')
