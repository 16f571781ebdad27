import {
  type DueKinds,
  type DueQuery,
  type PoolConnections,
  type Reads,
  type Store,
  StoreUnavailable,
  type TableSize,
  type Tx,
  type WatchListener,
} from '../store.ts'
import { changesSinceSnapshot } from '../tables/changes.ts'
import { readDue } from '../tables/due.ts'
import { readTime, writePing } from '../tables/meta.ts'
import { estimatedSizes, largestFirst } from '../tables/tableSizes.ts'
import { readsOf, txOf } from '../verbs.ts'
import { Watchers } from '../watchers.ts'
import { readConnections } from './connections.ts'
import { openingProblem } from './errors.ts'
import { Hosts } from './hosts.ts'
import { Listener } from './listener.ts'
import { migrateDatabase } from './migrator.ts'
import { createPool, type PostgresOptions, type StorePool } from './pool.ts'
import { PgExecutor } from './session.ts'
import { Transactions } from './transactions.ts'

/** Connects, and migrates the database to the current schema. @throws StoreUnavailable, UnusableDatabase */
export async function openPostgres(url: string, options: PostgresOptions): Promise<PostgresStore> {
  const hosts = new Hosts(url)
  try {
    await migrateDatabase(hosts)
  } catch (error) {
    throw openingProblem(error, url)
  }
  return new PostgresStore(hosts, options)
}

/** A pool of connections; any number of nodes share the database. */
class PostgresStore implements Store {
  readonly read: Reads
  readonly #pool: StorePool
  readonly #session: PgExecutor
  readonly #transactions: Transactions
  readonly #watchers = new Watchers()
  readonly #listener: Listener
  #listening = false
  #closing: Promise<void> | undefined

  constructor(hosts: Hosts, options: PostgresOptions) {
    this.#pool = createPool(hosts, options)
    this.#session = new PgExecutor(this.#pool)
    this.#transactions = new Transactions(this.#pool)
    this.#listener = new Listener(hosts, options, (kind) => this.#watchers.changed(kind === 'feed'))
    this.read = readsOf(this.#session)
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    return this.#transactions.run((session) => work(txOf(session)))
  }

  watch(listener: WatchListener): () => void {
    if (!this.#listening && !this.#closing) {
      this.#listening = true
      void this.#listener.start()
    }
    return this.#watchers.add(listener)
  }

  /** Always false, because only the server knows; `watch` reports changes. */
  changedRemotely(): boolean {
    return false
  }

  async changesSince(cursor: string | null): ReturnType<Store['changesSince']> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    const changes = await this.#listener.ask((session) => changesSinceSnapshot(session, cursor))
    return changes ?? changesSinceSnapshot(this.#session, cursor)
  }

  async due(query: DueQuery): Promise<DueKinds> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    // Not on the pool, which may be busy. This also shows that the connection that listens is alive.
    return (await this.#listener.ask((session) => readDue(session, query))) ?? readDue(this.#session, query)
  }

  /** PostgreSQL does not report the space on its disk. */
  diskSpace(): Promise<null> {
    return Promise.resolve(null)
  }

  async ping(): Promise<void> {
    if (this.#closing) throw new StoreUnavailable('the store is closed')
    // It would fail behind a burst that the server is working on.
    await this.#transactions.run(writePing, true)
  }

  time(): Promise<number> {
    return readTime(this.#session)
  }

  connections(): Promise<PoolConnections> {
    return readConnections(this.#session, this.#pool.size)
  }

  async tableSizes(): Promise<TableSize[]> {
    return largestFirst(await estimatedSizes(this.#session))
  }

  async checkPages(): Promise<null> {
    return null
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#watchers.stop()
    await this.#listener.close()
    await this.#pool.close()
  }
}
