import type { Renewal } from './renewal.ts'

/** The settings of the thread. */
export interface ThreadSettings {
  /** `postgres://…` */
  readonly url: string
  /** One number, which the process increments every second while its event loop runs. */
  readonly ticks: SharedArrayBuffer
}

export type ToRenewer =
  | { readonly do: 'keep'; readonly renewal: Renewal }
  | { readonly do: 'release'; readonly id: string }
  | { readonly do: 'close' }

export type FromRenewer =
  /** The renewer has a connection to the store. */
  | { readonly say: 'ready' }
  | { readonly say: 'released'; readonly id: string }
  /** The leases of these holders are renewed. */
  | { readonly say: 'renewed'; readonly ids: readonly string[] }
  /** Another node gave the holder up. */
  | { readonly say: 'lost'; readonly id: string }
  /** No round has succeeded yet, and too many have failed. */
  | { readonly say: 'neverReady'; readonly reason: string }
  /** Renewals fail, or succeed again (null). */
  | { readonly say: 'failing'; readonly reason: string | null }

/** The link to a renewer, in this thread or another. */
export interface RenewerLink {
  post(message: ToRenewer): void
  /** Resolves when the renewer has stopped. */
  close(): Promise<void>
}
