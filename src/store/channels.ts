import type { AbrLadder, Channel, Distribution, Engine, Ingest, ActiveStatus } from '../core/channels/types.ts'

// The part of the store's interface that live channels need. Import it from `store.ts`, which is the one door.

/**
 * An ingest as stored. What is sealed under `ingest:secret` is the stream key of a push, or the source's address of a
 * pull, which may hold a passphrase. A stream key is looked up by its SHA-256.
 */
export interface StoredIngest extends Ingest {
  secretSealed: Uint8Array
  keyHash: Uint8Array | null
}

/** A key that viewers' tokens are verified with; what is sealed under `distribution:key` is its text. */
export interface DistributionKey {
  id: string
  accountId: string
  distributionId: string
  name: string | null
  keySealed: Uint8Array
  createdAtMs: number
}

/** Where a list that is ordered newest first goes on: after this one. */
export interface Newest {
  limit: number
  after?: { atMs: number; id: string }
}

export interface ChannelPageQuery extends Newest {
  accountId: string
  name?: string
  /** The id, or part of the name (any case, ASCII). */
  search?: string
  statuses?: readonly ActiveStatus[]
  ids?: readonly string[]
  externalId?: string
}

/** A list of ingests or engines: of a channel, or of one of its ingests. */
export type ChildListQuery = Newest & ({ channelId: string } | { ingestId: string })

export interface DistributionListQuery {
  channelId: string
  limit: number
  after?: { name: string; id: string }
}

/** What was served, to be added to those of the same quarter of an hour. */
export interface ServedBytes {
  accountId: string
  channelId: string
  distributionId: string
  /** The beginning of the quarter. */
  slotMs: number
  /** ISO 3166-1 alpha-2, or '' where it is not known. */
  country: string
  /** '' for viewers without one. */
  trackingId: string
  bytesOut: number
  /** How long the segments play that were handed over whole. */
  viewedMs: number
}

/** A question about what was served, of a channel or of a distribution. The time is half open. */
export interface ServedQuery {
  channelId?: string
  distributionId?: string
  /** Only those of these; at least one. */
  distributionIds?: readonly string[]
  fromMs: number
  untilMs: number
  /** At least one; rows come in the order of these. */
  groupBy: readonly ('slotMs' | 'distributionId' | 'country' | 'trackingId')[]
  /** What `slotMs` is cut to, `offsetMs` east of UTC. */
  slot: { stepMs: number; offsetMs: number }
  /** Only where segments were handed over whole. */
  viewed?: true
  /** Only tracking ids behind this one. */
  afterTrackingId?: string
  limit: number
}

/** A sum. What it was not grouped by is 0 or ''. */
export type ServedSum = Omit<ServedBytes, 'accountId' | 'channelId'>

/** `get` asks for what belongs to the account; what is another's is not there. */
interface Owned<T> {
  get(accountId: string, id: string): Promise<T | undefined>
}

interface OfChannel<T> {
  /** All of a channel, oldest first; there are at most `CHILDREN_MAX`. */
  ofChannel(channelId: string): Promise<T[]>
}

export interface ChannelReads {
  channels: Owned<Channel> & {
    /** Newest first. */
    page(query: ChannelPageQuery): Promise<Channel[]>
  }
  ingests: Owned<StoredIngest> &
    OfChannel<StoredIngest> & {
      page(query: Newest & { channelId: string }): Promise<StoredIngest[]>
      findByKeyHash(hash: Uint8Array): Promise<StoredIngest | undefined>
      /** Of those of these ids that are there and have a key. */
      keyHashes(ids: readonly string[]): Promise<Map<string, Uint8Array>>
    }
  engines: Owned<Engine> &
    OfChannel<Engine> & {
      page(query: ChildListQuery): Promise<Engine[]>
      /** Of all accounts, those that are not stopped: what a restarted server has to bring back or to close. */
      unstopped(): Promise<Engine[]>
    }
  distributions: Owned<Distribution> &
    OfChannel<Distribution> & {
      /** By name, then id. */
      page(query: DistributionListQuery): Promise<Distribution[]>
      /** Whosever it is: for those who play it. */
      find(id: string): Promise<Distribution | undefined>
    }
  distributionKeys: { list(distributionId: string): Promise<DistributionKey[]> }
  served: {
    sum(query: ServedQuery): Promise<ServedSum[]>
    /** Whether there is anything of this channel or distribution of the account, which may be deleted. */
    exists(accountId: string, of: { channelId: string } | { distributionId: string }): Promise<boolean>
  }
  abrLadders: Owned<AbrLadder> & { list(accountId: string): Promise<AbrLadder[]> }
}

/** `replace` writes what the owner may change over what is there, and leaves the status alone. */
interface OwnedTx<T> extends Owned<T> {
  insert(value: T): Promise<void>
  replace(value: T): Promise<void>
}

/** Whoever changes something of a channel locks the channel first, so that such changes follow each other. */
export interface ChannelTx {
  channels: OwnedTx<Channel> & {
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<Channel | undefined>
    setStatus(id: string, status: ActiveStatus): Promise<void>
    /** Removes the channel with its ingests, engines, distributions and their keys. */
    delete(id: string): Promise<void>
  }
  ingests: OwnedTx<StoredIngest> & OfChannel<StoredIngest> & { delete(id: string): Promise<void> }
  engines: OwnedTx<Engine> &
    OfChannel<Engine> & {
      setStatus(id: string, status: ActiveStatus, message: string | null): Promise<void>
      delete(id: string): Promise<void>
      /** The first engine, of any channel, that uses this ladder. */
      usingLadder(abrLadderId: string): Promise<Engine | undefined>
    }
  distributions: OwnedTx<Distribution> &
    OfChannel<Distribution> & {
      /** With its keys. */
      delete(id: string): Promise<void>
    }
  distributionKeys: {
    list(distributionId: string): Promise<DistributionKey[]>
    insert(key: DistributionKey): Promise<void>
    delete(id: string): Promise<void>
  }
  served: {
    add(rows: readonly ServedBytes[]): Promise<void>
    /** Answers how many rows went: `limit`, and a few more. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  abrLadders: OwnedTx<AbrLadder> & {
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<AbrLadder | undefined>
    list(accountId: string): Promise<AbrLadder[]>
    delete(id: string): Promise<void>
  }
}
