import { loadAddon } from './addon.ts'

/** The exports of native/sendfile.c. A wrong argument makes it throw a TypeError. */
export interface Sendfile {
  /**
   * Holds the open regular file behind `fd`, which has this many bytes, even if `fd` is closed later. 0: it cannot
   * be held.
   */
  hold(fd: number, length: number): number
  release(file: number): void
  /**
   * Passes a head (Latin-1, 1 to 8192 characters) and the first `length` bytes of a file to the kernel. Returns
   * how many bytes of both together the kernel took: fewer than all when the socket is full. Negative: an errno,
   * and it took nothing.
   *
   * @param socket descriptor of a non-blocking stream socket. It must be the right one *now*: descriptors are
   * reused
   */
  send(socket: number, head: string, file: number, length: number): number
}

/** Loads the addon. Callers must still prove it. Null when it was not built. */
export const loadSendfile = (): Sendfile | null => loadAddon('sendfile') as Sendfile | null
