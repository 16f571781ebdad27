import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

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

const PATH = fileURLToPath(
  new URL(`../../build/native/sendfile-${process.platform}-${process.arch}.node`, import.meta.url),
)

/** The addon, not proved yet; null where it was not built or does not fit this Node. */
export function loadSendfile(path = PATH): Sendfile | null {
  try {
    return createRequire(import.meta.url)(path) as Sendfile
  } catch {
    return null
  }
}
