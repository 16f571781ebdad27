import { isPostgresUrl } from '../../src/base/postgresUrl.ts'
import { postgresDialect, sqliteDialect } from '../../src/store/dialects.ts'
import { connectSqlite, postgresConnector } from '../../src/store/leases/connection.ts'
import { renewalOf } from '../../src/store/leases/renewal.ts'
import { Renewer } from '../../src/store/leases/renewer.ts'
import type { Lease, LeaseKind, Leases } from '../../src/store/store.ts'

/** Leases without renewals: for tests that need no thread, or that let a node look dead. */
export const unrenewed: Leases = { keep: () => undefined, release: () => Promise.resolve() }

/** No clock in these tests jumps. */
export const evenTime = { isEven: () => Promise.resolve(true), interrupted: () => undefined }

/** Renews a lease as a server does, on a connection of its own. False: its holder was given up. */
export async function renewLease(url: string, lease: Lease): Promise<boolean> {
  const isServer = isPostgresUrl(url)
  let isKept = true
  const renewer: Renewer = new Renewer({
    open: isServer ? await postgresConnector(url) : () => connectSqlite(url),
    say({ say }) {
      if (say === 'lost') isKept = false
      // After the first round.
      if (say === 'ready') renewer.hear({ do: 'close' })
    },
    isHolderAlive: () => true,
  })
  renewer.hear({ do: 'keep', renewal: renewalOf(isServer ? postgresDialect : sqliteDialect, lease) })
  await renewer.run()
  return isKept
}

/** Lets the lease of a holder be over, as if it was last renewed long ago. */
export const expireLease = (url: string, id: string, kind: LeaseKind = 'node'): Promise<boolean> =>
  renewLease(url, { kind, id, leaseMs: -1 })
