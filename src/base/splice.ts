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
  /** Begins to watch connections. Null: this system cannot. @param onReady has to call `run` */
  watch(onReady: () => void): Watch | null
  /** The id of a connection, which the watch now reads in place of Node; or a negative errno. */
  add(watch: Watch, socket: number): number
  /** Who reads: the watch, or Node. Returns 0 or a negative errno. */
  arm(watch: Watch, id: number, isArmed: boolean): number
  /**
   * Takes the request from the socket, of which `taken` bytes are the head, and answers it. Only `onRequest` may call it.
   * Returns how many bytes of head and body the kernel took. If these are not all, the watch sends the rest and then calls
   * `onEnd`. Negative: an errno; the connection is broken.
   *
   * @param head Latin-1, 1 to 8192 characters
   * @param body not empty; nothing may write to it. One of `join` is not copied
   */
  answer(watch: Watch, id: number, taken: number, head: string, body: Buffer): number
  /** The bytes of its answer under way that the kernel took; 0: there is none. */
  sent(watch: Watch, id: number): number
  /** Handles what has come, and what sockets have taken. The listeners must not throw. */
  run(watch: Watch, onRequest: OnRequest, onEnd: OnEnd): void
  /** Ends the watch of a connection. Returns the bytes of its answer under way that the kernel took, else 0. */
  forget(watch: Watch, id: number): number
  /** Ends the watch. Its connections stay as they are. Not within `run`. */
  unwatch(watch: Watch): void
  /** What `run` would pass for these bytes; null: it would leave them to Node. */
  read(bytes: Buffer): RequestHead | null
}

declare const WATCH: unique symbol
export type Watch = { readonly [WATCH]: true }

/** A request without a body, of `length` bytes. An absent header is undefined. */
export type RequestHead = [
  length: number,
  isWholeGet: boolean,
  target: string,
  origin: string | undefined,
  referer: string | undefined,
  userAgent: string | undefined,
  forwardedFor: string | undefined,
  cmcdRequest: string | undefined,
  cmcdStatus: string | undefined,
]

/** Returns true if it called `answer`. A length of 0: Node has to read what is there. The connection is still armed. */
export type OnRequest = (id: number, ...head: RequestHead) => boolean

/** The rest of an answer has left. @param error 0, or why it cannot leave @param sent bytes of head and body */
export type OnEnd = (id: number, sent: number, error: number) => void

/** Loads the addon. Callers must still prove it. Null when it was not built. */
export const loadSplice = (): Splice | null => loadAddon('splice') as Splice | null
