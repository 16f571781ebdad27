import { FORWARD_STALE_MS, isNear, type SimNode } from './node.ts'
import type { Flow } from './links.ts'
import { fail, type Seen } from './seen.ts'

/** What comes over links takes two steps at most, the second one in its region, and comes to no node twice. */
export function checkLinks(seen: Seen): void {
  for (const flow of seen.links.flows) {
    const [, between, last] = flow.nodes
    if (new Set(flow.nodes).size !== flow.nodes.length) fail('a stream comes back to a node')
    if (flow.nodes.length > 3) fail('a stream takes more than two steps')
    if (between && last && !isNear(between, last)) fail('a stream is lent on to another region')
    checkSecured(seen, flow)
  }
}

/**
 * Where the database was not heard for too long, no media arrives that needs a token; and none arrives later, for those whose token
 * was taken away before.
 */
function checkSecured({ links }: Seen, { publisher, nodes, room }: Flow): void {
  const last = nodes.at(-1)
  if (!publisher.grant.isSecured || !last?.isRunning) return
  if (last.isStale) fail(`secured media arrives where the database was silent for more than ${FORWARD_STALE_MS} ms`)
  const outlived = links.viewersOf(last, room).find(({ grant }) => grant.revokedAtMs < last.staleAtMs)
  if (outlived)
    fail(`session ${outlived.id} gets secured media, and its token was taken away before the database was silent`)
}

/** Each viewer has the media of its stream, and nodes lend and borrow what their media processes do. */
export function checkLinksHealed(seen: Seen): void {
  const running = seen.nodes.filter(({ isRunning, isServing }) => isRunning && isServing)
  const ids = new Set(running.map(({ id }) => id))
  for (const node of running) {
    const { lentRooms, cascade, sessions } = node.ctx
    const lost = lentRooms.nodes.find((id) => !ids.has(id))
    if (lost !== undefined) fail('a node lends to one that is gone')
    const { lent, borrowed } = seen.links.ofNode(node)
    if (lent.length !== lentRooms.streams(node.id).length)
      fail(`media processes lend ${lent.length} streams, and their node knows of ${lentRooms.streams(node.id).length}`)
    if (borrowed.length !== cascade.streams.length)
      fail(`media processes borrow ${borrowed.length} streams, and their node knows of ${cascade.streams.length}`)
    for (const { room, origin } of borrowed) {
      const feeds = feedsOf(seen, room)
      if (feeds.length > 0 && !feeds.includes(origin?.id))
        fail('a node borrows a stream where it is not on the air any more')
    }
    if (sessions.drain === null) checkWatched(seen, node)
  }
}

/** The nodes that have the stream of a room on the air. */
const feedsOf = ({ rows }: Seen, room: string): unknown[] =>
  rows(`select node from feeds where account_id || '/' || stream_name = '${room}' and ended_at_ms is null`).map(
    (row) => row['node'],
  )

function checkWatched(seen: Seen, node: SimNode): void {
  const rooms = new Set(seen.clients.map((one) => seen.links.roomOf(one)))
  const arriving = new Set(seen.links.flows.filter(({ nodes }) => nodes.at(-1) === node).map(({ room }) => room))
  for (const room of rooms) {
    if (seen.links.viewersOf(node, room).length === 0) continue
    const feeds = feedsOf(seen, room)
    if (feeds.length > 0 && !feeds.includes(node.id) && !arriving.has(room))
      fail(`viewers of ${room} at another node get no media`)
  }
}
