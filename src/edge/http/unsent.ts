import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { usableMemoryBytes } from '../../base/processMemory.ts'
import { passedBytes } from './passedBytes.ts'
import { isEncrypted } from './peer.ts'
import { handleOf } from './socketHandle.ts'
import type { ViewerAnswer } from './viewerRequest.ts'

// Answers that their clients do not take.

export const UNSENT_LOOK_MS = 5000
/**
 * Two minutes. In looks, so that a pause of the process counts as one. The kernel takes more when a third of its buffer is free,
 * and that has up to 4 MB: of a client that reads 11 kB/s all the time, nothing is seen for so long.
 */
const LOOKS_MAX = 24

/** Of all connections together: an eighth of the memory that this process may use. */
export const UNSENT_MAX_BYTES = usableMemoryBytes() / 8

/** Answers whose body others share, so that it takes no memory of its own. */
const SHARED = new WeakSet<ServerResponse>()

export const sharesBody = (answer: ServerResponse): void => void SHARED.add(answer)

/** Answers that are written as they are made, with what is not in their socket yet. */
const STREAMED = new WeakMap<ServerResponse, Readable>()

export const sendsFrom = (answer: ServerResponse, body: Readable): void => void STREAMED.set(answer, body)

/** What waits for the client in memory of its own, bytes. An encrypted answer is a copy. */
export function unsentBytes(socket: Socket, answer: ServerResponse | ViewerAnswer): number {
  if (!(answer instanceof ServerResponse)) return isEncrypted(socket) ? socket.writableLength : 0
  const inSocket = isEncrypted(socket) || !SHARED.has(answer) ? socket.writableLength : 0
  return inSocket + (STREAMED.get(answer)?.readableLength ?? 0)
}

/** What a client has taken of its answers. */
export class ClientProgress {
  #takenBytes = -1
  #looks = 0

  /** True: the client has taken nothing for two minutes, although something waits for it. Call it every `UNSENT_LOOK_MS`. */
  isStuck(socket: Socket, answer: ServerResponse | ViewerAnswer): boolean {
    // The addon has a whole answer at once.
    const isWaiting = !(answer instanceof ServerResponse) || socket.writableLength > 0
    const takenBytes = takenOf(socket)
    this.#looks = isWaiting && takenBytes === this.#takenBytes ? this.#looks + 1 : 0
    this.#takenBytes = takenBytes
    return this.#looks >= LOOKS_MAX
  }
}

/** The bytes that the kernel has taken for the client. */
function takenOf(socket: Socket): number {
  const handle = handleOf(socket)
  const below = handle?._parent ?? handle
  const queued = handle && below ? socket.bytesWritten - handle.bytesWritten + below.writeQueueSize : 0
  return passedBytes(socket).out - queued
}
