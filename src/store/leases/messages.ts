import type { Lease } from './types.ts'

/** What the thread is started with. */
export interface ThreadSettings {
  /** The path of a SQLite file, or `postgres://…`. */
  readonly url: string
  /** One number, which the process raises every second while its event loop runs. */
  readonly pulse: SharedArrayBuffer
}

export type ToThread =
  | { readonly do: 'keep'; readonly lease: Lease }
  | { readonly do: 'release'; readonly id: string }
  | { readonly do: 'close' }

export type FromThread =
  /** It has a connection to the store. */
  | { readonly say: 'ready' }
  | { readonly say: 'released'; readonly id: string }
  /** The holder was given up. */
  | { readonly say: 'lost'; readonly id: string }
  /** Renewals have begun to fail, or do not fail any more (null). */
  | { readonly say: 'failing'; readonly reason: string | null }
