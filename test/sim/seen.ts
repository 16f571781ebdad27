import type { Grant } from './grants.ts'
import type { Links } from './links.ts'
import type { SimNode } from './node.ts'
import type { Sending } from './targets.ts'

/** A publisher or viewer, as its edge and its player know it. */
export interface Client {
  readonly node: SimNode
  readonly grant: Grant
  readonly id: string
  readonly isPublisher: boolean
  readonly protocol: 'whip' | 'whep' | 'hls'
  readonly streamName: string
  readonly address: string
  state: 'asking' | 'open' | 'over'
  wasAdmitted: boolean
  /** A person asked to end it, and was told that it ends. */
  isKicked: boolean
  bytes: number
}

/** What the checks see of a world. */
export interface Seen {
  readonly nodes: readonly SimNode[]
  readonly clients: readonly Client[]
  readonly grants: readonly Grant[]
  readonly sendings: readonly Sending[]
  readonly links: Links
  /** A node died, or stood still for longer than its lease: what it had not written is lost. */
  readonly hasLosses: boolean
  /** The database never failed. */
  readonly isFaultless: boolean
  /** Of the database. */
  readonly rows: (sql: string) => readonly Record<string, unknown>[]
}

/** A promise is broken. */
export function fail(what: string): never {
  throw new Error(what)
}
