import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Splice } from '../../../base/splice.ts'
import { isEncrypted } from '../peer.ts'
import { handleOf } from '../socketHandle.ts'
import { sharesBody } from '../unsent.ts'
import { countWithoutNode } from '../passedBytes.ts'

/** Undocumented internals of Node's responses. `spliceProof.ts` tests them at each start. */
type Answer = ServerResponse & { readonly _header?: unknown; _headerSent?: boolean }

/**
 * Ends an answer whose head was written, with this body. Node sends what the addon does not: waiting for each free piece of
 * a slow viewer's socket ourselves would cost more than it saves. Returns how many bytes of the body the addon sent.
 *
 * @param splice null: Node sends everything
 */
export function endWith(splice: Splice | null, answer: ServerResponse, bytes: Buffer): number {
  const taken = splice === null ? 0 : sendAtOnce(splice, answer, bytes)
  // Node would write an empty Buffer too.
  if (taken > 0 && taken === bytes.length) answer.end()
  else {
    sharesBody(answer)
    answer.end(taken === 0 ? bytes : bytes.subarray(taken))
  }
  return taken
}

/**
 * Passes the kernel the head that was written to `answer`, and as much of the body as the socket takes at once, without
 * copying. Returns the number of body bytes sent, perhaps 0. The caller ends `answer` with the rest.
 */
export function sendAtOnce(splice: Splice, answer: ServerResponse, bytes: Buffer): number {
  const { _header: head, socket }: Answer = answer
  const fd = socket === null ? null : descriptorOf(socket)
  if (socket === null || fd === null || typeof head !== 'string') return 0
  const taken = splice.send(fd, head, bytes)
  // Node will find the cause when it sends, and handles it.
  if (taken <= 0) return 0
  countWithoutNode(socket, { in: 0, out: taken })
  markHeadSent(answer)
  if (taken < head.length) answer.write(head.slice(taken), 'latin1')
  return Math.max(0, taken - head.length)
}

function markHeadSent(answer: Answer): void {
  answer._headerSent = true
}

/**
 * The descriptor of a socket for which neither Node nor libuv has queued data, so that a direct write keeps the order.
 * Valid only for a call that follows at once.
 */
function descriptorOf(socket: Socket): number | null {
  const handle = handleOf(socket)
  // The descriptor of an encrypted connection is that of the socket below, on which nothing may be sent in the clear.
  if (!handle || isEncrypted(socket) || socket.destroyed || !socket.writable || socket.writableLength !== 0) return null
  const { fd, writeQueueSize } = handle
  return fd >= 0 && writeQueueSize === 0 ? fd : null
}
