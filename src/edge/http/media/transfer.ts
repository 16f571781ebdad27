import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Sendfile } from '../../../base/sendfile.ts'

/** A body that is in memory and, the same bytes, in a file that the addon holds; 0: in memory only. */
export interface Body {
  readonly bytes: Buffer
  readonly file: number
}

/** What Node keeps of a socket and of an answer beside its documented interface. `transferProof.ts` proves it at each start. */
interface Handle {
  readonly fd: number
  readonly writeQueueSize: number
}
type Internals = { readonly _handle?: Partial<Handle> | null }
type Answer = ServerResponse & { readonly _header?: unknown; _headerSent?: boolean }

/**
 * Hands the kernel the head that was written to `answer`, and as much of the body as the socket takes at once, without a
 * copy of ours. Returns how many bytes of the body that was, perhaps 0; the caller ends `answer` with the others, which
 * Node sends when there is room: to be woken for each free piece of a slow viewer's socket costs more than it saves.
 */
export function sendAtOnce(sendfile: Sendfile, answer: ServerResponse, { bytes, file }: Body): number {
  const { _header: head, socket }: Answer = answer
  const fd = socket === null || file === 0 ? null : descriptorOf(socket)
  if (fd === null || typeof head !== 'string') return 0
  const taken = sendfile.send(fd, head, file, bytes.length)
  // Why nothing was taken Node will find out, and it knows what to do about it.
  if (taken <= 0) return 0
  markHeadSent(answer)
  if (taken < head.length) answer.write(head.slice(taken), 'latin1')
  return Math.max(0, taken - head.length)
}

function markHeadSent(answer: Answer): void {
  answer._headerSent = true
}

/**
 * The descriptor of a socket for which nothing waits in Node or libuv, so that what is sent there comes behind all that
 * was sent before. It is good for a call that follows at once and for nothing later.
 */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as Internals
  if (!handle || socket.destroyed || !socket.writable || socket.writableLength !== 0) return null
  const { fd, writeQueueSize } = handle
  return typeof fd === 'number' && fd >= 0 && writeQueueSize === 0 ? fd : null
}
