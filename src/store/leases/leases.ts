import { postgresEngine, sqliteEngine } from '../engines.ts'
import type { StoreLog } from '../log.ts'
import type { SqlDialect } from '../executor.ts'
import { StoreUnavailable } from '../store.ts'
import { connectSqlite } from './connection.ts'
import type { FromRenewer, RenewerLink } from './messages.ts'
import { renewalOf } from './renewal.ts'
import { Renewer } from './renewer.ts'
import { LeaseThread } from './leaseThread.ts'
import type { Lease, Leases } from './types.ts'

/** Leases that this process keeps until it closes them. */
export interface RunningLeases extends Leases {
  /** Resolves when the store was reached; rejects with StoreUnavailable when it was not. */
  readonly ready: Promise<void>
  /** Renews nothing more. Idempotent. */
  close(): Promise<void>
}

/**
 * Renews the leases of this process on a connection of its own, whatever the pool and the queue of writes have to do. With
 * PostgreSQL, where other machines judge them, a thread does it, so that a busy event loop delays nothing either; with
 * SQLite, where all who judge are on this machine, this thread does, which saves 20 MB.
 */
export function startLeases(url: string, log: StoreLog): RunningLeases {
  const isServer = /^postgres(ql)?:\/\//.test(url)
  return new RenewedLeases(isServer ? postgresEngine : sqliteEngine, log, (hear) =>
    isServer ? new LeaseThread(url, log, hear) : renewHere(url, hear),
  )
}

function renewHere(file: string, hear: (message: FromRenewer) => void): RenewerLink {
  const renewer = new Renewer({ open: () => connectSqlite(file), say: hear, isHolderAlive: () => true })
  const running = renewer.run()
  return {
    tell: (message) => renewer.hear(message),
    close: async () => {
      renewer.hear({ do: 'close' })
      await running
    },
  }
}

class RenewedLeases implements RunningLeases {
  readonly ready: Promise<void>
  readonly #engine: SqlDialect
  readonly #log: StoreLog
  readonly #link: RenewerLink
  readonly #lost = new Map<string, () => void>()
  readonly #releasing = new Map<string, () => void>()
  #isFailing = false
  #closing: Promise<void> | null = null

  constructor(engine: SqlDialect, log: StoreLog, link: (hear: (message: FromRenewer) => void) => RenewerLink) {
    this.#engine = engine
    this.#log = log
    const first = Promise.withResolvers<void>()
    this.ready = first.promise
    // Whoever waits for it hears of it.
    this.ready.catch(() => undefined)
    this.#link = link((message) => {
      const why = message.say === 'failing' ? message.reason : null
      if (why === null) first.resolve()
      else first.reject(new StoreUnavailable(`no connection to renew leases with: ${why}`))
      this.#hear(message)
    })
  }

  keep(lease: Lease, lost: () => void = () => undefined): void {
    this.#lost.set(lease.id, lost)
    this.#link.tell({ do: 'keep', renewal: renewalOf(this.#engine, lease) })
  }

  release(id: string): Promise<void> {
    if (!this.#lost.delete(id) || this.#closing) return Promise.resolve()
    return new Promise((resolve) => {
      this.#releasing.set(id, resolve)
      this.#link.tell({ do: 'release', id })
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#link.close().then(() => {
      for (const id of this.#releasing.keys()) this.#released(id)
    })
    return this.#closing
  }

  #hear(message: FromRenewer): void {
    switch (message.say) {
      case 'ready':
        return this.#failing(null)
      case 'released':
        return this.#released(message.id)
      case 'lost':
        return this.#holderIsLost(message.id)
      case 'failing':
        return this.#failing(message.reason)
    }
  }

  #failing(reason: string | null): void {
    if (reason !== null) this.#log.warn({ reason }, 'leases cannot be renewed now')
    else if (this.#isFailing) this.#log.info({}, 'leases are renewed again')
    this.#isFailing = reason !== null
  }

  #released(id: string): void {
    this.#releasing.get(id)?.()
    this.#releasing.delete(id)
  }

  #holderIsLost(id: string): void {
    const lost = this.#lost.get(id)
    this.#lost.delete(id)
    lost?.()
  }
}
