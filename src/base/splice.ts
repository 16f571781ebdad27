import { loadAddon } from './addon.ts'

/** The exports of native/splice.c. A wrong argument makes it throw a TypeError. */
export interface Splice {
  /**
   * One Buffer with the bytes of at most 1024 parts, which are not all empty. It has pages of its own, and nothing may
   * write to it: a socket may still have to send them. Null: there is no memory.
   */
  join(parts: readonly Buffer[]): Buffer | null
  /**
   * Passes a head (Latin-1, 1 to 8192 characters) and a whole Buffer of `join` to the kernel, which does not copy the
   * Buffer. Returns how many bytes of both together the kernel took: fewer than all when the socket is full. Negative: an
   * errno, and it took nothing; -9 (EBADF) also for a Buffer that is not of `join`.
   *
   * @param socket descriptor of a non-blocking stream socket. It must be the right one *now*: descriptors are
   * reused
   */
  send(socket: number, head: string, bytes: Buffer): number
}

/** Loads the addon. Callers must still prove it. Null when it was not built. */
export const loadSplice = (): Splice | null => loadAddon('splice') as Splice | null
