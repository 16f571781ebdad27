import type { Pull, PullState } from '../core/pulls/types.ts'

// The store's interface for pulls. Import it from `store.ts`.

/** A pull as stored; `urlSealed` is its whole URL sealed under `pull:url`. */
export interface StoredPull extends Pull {
  readonly urlSealed: Uint8Array
}

/** A pull that was never dialled. */
export type NewPull = Omit<StoredPull, 'id' | 'lastProblem'>

/** A pull that is to run. */
export interface EnabledPull extends StoredPull {
  /** The region whose nodes may publish with its token; null: all. */
  readonly region: string | null
}

/** What nodes need to know of a pull on demand that runs at another one. */
export type PullOnDemand = Pick<
  StoredPull,
  'id' | 'accountId' | 'streamName' | 'when' | 'demandAtMs' | 'node' | 'state'
>

export interface PullReads {
  get(accountId: string, id: number): Promise<StoredPull | undefined>
  /** In the order of creation. */
  list(accountId: string): Promise<StoredPull[]>
  /** The enabled ones of every account that are on demand. */
  onDemand(): Promise<PullOnDemand[]>
  /**
   * The enabled ones of every account that run at this node, or at none that serves: of those on demand, which no node runs, the ones
   * that were wanted after `sinceMs`.
   */
  concerning(node: string, sinceMs: number): Promise<EnabledPull[]>
}

export interface PullTx extends PullReads {
  insert(pull: NewPull): Promise<StoredPull>
  lock(accountId: string, id: number): Promise<StoredPull | undefined>
  /** Writes all of it but `demandAtMs`, `node`, `state` and `lastProblem`. */
  replace(pull: StoredPull): Promise<void>
  delete(id: number): Promise<void>
  /** Makes it run at this node, unless it runs at one that serves, is off, or is gone. */
  claim(id: number, node: string): Promise<void>
  /** A viewer wants it at `atMs`: kept if it is enabled and on demand. */
  want(id: number, atMs: number): Promise<void>
  /** Writes how it is, if it runs at this node. */
  setState(id: number, node: string, state: PullState): Promise<void>
  /** Takes it from this node. */
  release(id: number, node: string): Promise<void>
}
