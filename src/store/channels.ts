import type { SlateFacts } from '../core/channels/slate.ts'
import type {
  AbrLadder,
  Channel,
  Distribution,
  Engine,
  EngineMessage,
  Ingest,
  ActiveStatus,
} from '../core/channels/types.ts'

// The store's interface for channels. Import it from `store.ts`.

/**
 * An ingest as stored. `secretSealed`, sealed under `ingest:secret`, is the stream key of a push or the source address of
 * a pull, which may contain a passphrase. `keyHash` is the SHA-256 of a stream key, for look-ups.
 */
export interface StoredIngest extends Ingest {
  secretSealed: Uint8Array
  keyHash: Uint8Array | null
}

/** What the publisher of an ingest has to meet, from its first byte to its last. */
export interface PushRules extends Pick<Ingest, 'type' | 'audio'> {
  /** SHA-256 of its stream key. */
  readonly keyHash: Uint8Array
}

/** A key to verify viewers' tokens; `keySealed` is its text, sealed under `distribution:key`. */
export interface DistributionKey {
  id: string
  accountId: string
  distributionId: string
  name: string | null
  keySealed: Uint8Array
  createdAtMs: number
}

/** A slate with its file. */
export interface NewSlate {
  readonly facts: SlateFacts
  readonly media: Uint8Array
}

/** A page of a list in descending order of age, newest first, starting after `after`. */
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

/** A page of ingests or engines of a channel, or of engines of an ingest. */
export type ChildListQuery = Newest & ({ channelId: string } | { ingestId: string })

export interface DistributionListQuery {
  channelId: string
  limit: number
  after?: { name: string; id: string }
}

/** Served bytes, to add to the row of the same quarter of an hour. */
export interface ServedBytes {
  accountId: string
  channelId: string
  distributionId: string
  /** The beginning of the quarter. */
  slotMs: number
  /** ISO 3166-1 alpha-2, or '' when unknown. */
  country: string
  /** '' for viewers without one. */
  trackingId: string
  bytesOut: number
  /** How many of them a cache sent. Absent: none. */
  bytesFromCaches?: number
  /** Duration of the segments that were served completely. */
  viewedMs: number
}

/** A query for served bytes of a channel or a distribution. The time range is half open. */
export interface ServedQuery {
  channelId?: string
  distributionId?: string
  /** Only of these distributions; at least one. */
  distributionIds?: readonly string[]
  fromMs: number
  untilMs: number
  /** At least one; also the sort order of the rows. */
  groupBy: readonly ('slotMs' | 'distributionId' | 'country' | 'trackingId')[]
  /** Rounds `slotMs` down to multiples of `stepMs`, in a time zone `offsetMs` east of UTC. */
  slot: { stepMs: number; offsetMs: number }
  /** Only rows with segments that were served completely. */
  viewed?: true
  /** Only tracking ids after this one. */
  afterTrackingId?: string
  limit: number
}

/** A sum. Fields that are not in `groupBy` are 0 or ''. */
export type ServedSum = Required<Omit<ServedBytes, 'accountId' | 'channelId'>>

/** `get` finds only resources of the account. */
interface Owned<T> {
  get(accountId: string, id: string): Promise<T | undefined>
}

interface OfChannel<T> {
  /** All of a channel, oldest first; there are at most `CHILDREN_MAX`. */
  ofChannel(channelId: string): Promise<T[]>
  count(channelId: string): Promise<number>
}

export interface ChannelReads {
  channels: Owned<Channel> & {
    /** Newest first. */
    page(query: ChannelPageQuery): Promise<Channel[]>
    /** `timeoutSeconds` of those of these channels that exist. */
    timeouts(ids: readonly string[]): Promise<Map<string, number>>
  }
  slates: {
    /** The file of a slate. Undefined: its channel has another one, or none. */
    media(id: string): Promise<Uint8Array | undefined>
  }
  ingests: Owned<StoredIngest> &
    OfChannel<StoredIngest> & {
      page(query: Newest & { channelId: string }): Promise<StoredIngest[]>
      findByKeyHash(hash: Uint8Array): Promise<StoredIngest | undefined>
      /** What publishers have to meet, of those of these ingests that have a key. */
      pushRules(ids: readonly string[]): Promise<Map<string, PushRules>>
    }
  engines: Owned<Engine> &
    OfChannel<Engine> & {
      page(query: ChildListQuery): Promise<Engine[]>
      /** Those of these engines that exist, of any account. */
      all(ids: readonly string[]): Promise<Engine[]>
      /** Engines of all accounts that are not stopped: a restarted server has to resume or close them. */
      unstopped(): Promise<Engine[]>
    }
  distributions: Owned<Distribution> &
    OfChannel<Distribution> & {
      /** By name, then id. */
      page(query: DistributionListQuery): Promise<Distribution[]>
      /** In any account, for playback. */
      find(id: string): Promise<Distribution | undefined>
    }
  distributionKeys: {
    /** Of all these distributions, oldest first. */
    list(...distributionIds: string[]): Promise<DistributionKey[]>
  }
  served: {
    sum(query: ServedQuery): Promise<ServedSum[]>
    /** Whether the account has rows of this channel or distribution, which may be deleted meanwhile. */
    exists(accountId: string, of: { channelId: string } | { distributionId: string }): Promise<boolean>
  }
  abrLadders: Owned<AbrLadder> & { list(accountId: string): Promise<AbrLadder[]> }
}

/** `replace` overwrites the fields that the owner may change, and leaves status and slate unchanged. */
interface OwnedTx<T> extends Owned<T> {
  insert(value: T): Promise<void>
  replace(value: T): Promise<void>
}

interface PartTx<T> extends OwnedTx<T>, OfChannel<T> {
  insert(...values: T[]): Promise<void>
}

/** A transaction that changes a part of a channel locks the channel first, so that such changes are serialized. */
export interface ChannelTx {
  channels: OwnedTx<Channel> & {
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<Channel | undefined>
    setStatus(id: string, status: ActiveStatus): Promise<void>
    /** Replaces the slate; null: it has none any more. */
    setSlate(id: string, slate: NewSlate | null): Promise<void>
    /** Removes the channel with its ingests, engines, distributions and their keys. */
    delete(id: string): Promise<void>
  }
  ingests: PartTx<StoredIngest> & { delete(id: string): Promise<void> }
  engines: PartTx<Engine> & {
    setStatus(id: string, status: ActiveStatus, message: EngineMessage | null): Promise<void>
    delete(id: string): Promise<void>
    /** The first engine, of any channel, that uses this ladder. */
    usingLadder(abrLadderId: string): Promise<Engine | undefined>
  }
  distributions: PartTx<Distribution> & {
    /** Deletes the distribution with its keys. */
    delete(id: string): Promise<void>
  }
  distributionKeys: ChannelReads['distributionKeys'] & {
    insert(...keys: DistributionKey[]): Promise<void>
    delete(id: string): Promise<void>
    /** Deletes all of a distribution. */
    clear(distributionId: string): Promise<void>
  }
  served: {
    add(rows: readonly ServedBytes[]): Promise<void>
    /** Deletes older rows; returns how many: up to `limit` and a few more. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  abrLadders: OwnedTx<AbrLadder> & {
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<AbrLadder | undefined>
    list(accountId: string): Promise<AbrLadder[]>
    delete(id: string): Promise<void>
  }
}
