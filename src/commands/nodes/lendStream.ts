import { err, ok, type Result } from '../../base/result.ts'
import {
  LINK_REQUEST_MS,
  type LinkAnswer,
  linkAnswerText,
  linkKeyText,
  type LinkRequest,
  linkRequestText,
  type Signed,
} from '../../core/nodes/linkRequest.ts'
import type { LentRoom } from '../../media/engine.ts'
import { streamKey } from '../../media/sessionRegistry.ts'
import type { NodeKey } from '../../services/cascade.ts'
import type { SessionContext } from '../context.ts'

/** 401: this is no node of ours, or not now. */
export interface LendRefusal {
  readonly status: 401 | 404 | 503
  readonly why: string
}

const SALT_BYTES = 16

/**
 * Lends a stream to another node, which has admitted viewers of it. It decides on nodes and never on viewers: the other node does
 * that. Only a node with the sealing key and a valid lease gets anything, and a request has an effect once.
 * @throws StoreUnavailable if it cannot look at leases
 */
export async function lendStream(
  ctx: SessionContext,
  { code, ...request }: Signed<LinkRequest>,
): Promise<Result<Signed<LinkAnswer>, LendRefusal>> {
  const { lentRooms, random, sessions } = ctx
  const key = senderKey(ctx, request, code)
  if (!key.ok) return refuse(401, key.error)
  if (!(await hasLease(ctx, request.from))) return refuse(401, 'the node has no valid lease')
  if (lentRooms.links === null || lentRooms.isFull) return refuse(503, 'this node lends nothing now')
  const { accountId, streamName, from } = request
  if (sessions.feedsOf(accountId, streamName).length === 0) return refuse(404, 'the stream is not here')
  const salt = random.bytes(SALT_BYTES)
  const answer = { salt: Buffer.from(salt).toString('base64url'), ssrc: newSsrc(ctx) }
  const room = streamKey(accountId, streamName)
  let lent: LentRoom | null = null
  let isOver = false
  const ended = (): void => {
    isOver = true
    if (lent !== null) lentRooms.remove(from, room, lent)
  }
  const share = { room, ssrc: answer.ssrc, key: key.value.derive(linkKeyText(request, answer)) }
  lent = await lentRooms.links.lend(share, ended)
  if (lent === null || isOver) return refuse(404, 'the stream is not here')
  lentRooms.add(from, room, lent)
  const answered = { ...answer, addresses: lent.addresses }
  return ok({ ...answered, code: key.value.code(linkAnswerText(code, answered)) })
}

/**
 * Ends what nodes have of this one that were given up. A lease that looks expired is no reason: after an outage of the database those of
 * all nodes do. Call it every few seconds.
 */
export async function endOrphanedLinks({ lentRooms, store }: SessionContext): Promise<void> {
  if (lentRooms.nodes.length === 0) return
  const nodes = await store.read.nodes.list()
  const alive = new Set(nodes.map(({ id }) => id))
  for (const node of lentRooms.nodes) if (!alive.has(node)) lentRooms.endOf(node)
}

/** The key with which the request was signed. */
function senderKey(ctx: SessionContext, request: LinkRequest, code: string): Result<NodeKey, string> {
  const { clock, lentRooms, nodeKeys, sessions } = ctx
  const text = linkRequestText(request)
  const key = nodeKeys.find((one) => one.isOf(text, code))
  if (key === undefined) return err('the code is wrong')
  if (request.to !== sessions.node) return err('it is for another node')
  const { atMs, nonce } = request
  if (Math.abs(clock.now() - atMs) > LINK_REQUEST_MS) return err('it is too old')
  return lentRooms.useNonce(nonce, atMs + LINK_REQUEST_MS) ? ok(key) : err('it came before')
}

async function hasLease({ store }: SessionContext, id: string): Promise<boolean> {
  const nodes = await store.read.nodes.list()
  return nodes.some((node) => node.id === id && !node.isExpired)
}

/** Not zero, and above those of processes. */
const newSsrc = ({ random }: SessionContext): number => 2 ** 31 + (Buffer.from(random.bytes(4)).readUInt32BE() >>> 1)

const refuse = (status: LendRefusal['status'], why: string): Result<never, LendRefusal> => err({ status, why })
