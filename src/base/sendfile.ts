import { loadAddon } from './addon.ts'

/** What native/sendfile.c exports. A wrong argument makes it throw a TypeError. */
export interface Sendfile {
  /** Holds the regular file that is open at `fd` and has this many bytes, whatever becomes of `fd`. 0: it cannot be held. */
  hold(fd: number, length: number): number
  release(file: number): void
  /**
   * Hands a head (Latin-1, 1 to 8192 characters) and the first `length` bytes of a file to the kernel. Returns how many
   * bytes of both together it took: fewer than all when the socket is full. Negative: an errno, and nothing was taken.
   *
   * @param socket descriptor of a non-blocking stream socket. It must be the right one *now*: descriptors are used again
   */
  send(socket: number, head: string, file: number, length: number): number
}

/** The addon, not proved yet; null where there is none. */
export const loadSendfile = (): Sendfile | null => loadAddon('sendfile') as Sendfile | null
