import type { Renewal } from './renewal.ts'

/** What the thread is started with. */
export interface ThreadSettings {
  /** `postgres://…` */
  readonly url: string
  /** One number, which the process raises every second while its event loop runs. */
  readonly renewal: SharedArrayBuffer
}

export type ToRenewer =
  | { readonly do: 'keep'; readonly renewal: Renewal }
  | { readonly do: 'release'; readonly id: string }
  | { readonly do: 'close' }

export type FromRenewer =
  /** It has a connection to the store. */
  | { readonly say: 'ready' }
  | { readonly say: 'released'; readonly id: string }
  /** The holder was given up. */
  | { readonly say: 'lost'; readonly id: string }
  /** Renewals have begun to fail, or do not fail any more (null). */
  | { readonly say: 'failing'; readonly reason: string | null }

/** To what does the renewing, here or in a thread. */
export interface RenewerLink {
  tell(message: ToRenewer): void
  /** Resolves when it does nothing any more. */
  close(): Promise<void>
}
