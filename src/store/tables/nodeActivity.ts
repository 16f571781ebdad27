import { type Kysely, sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import type { DB } from '../schema.ts'
import type { ActivityQuery, NodeActivity, OpenAtNode } from '../store.ts'

const sessionsByNode = (db: Kysely<DB>) =>
  db
    .selectFrom('sessions')
    .select(['node', 'action'])
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('ended_at_ms', 'is', null)
    .groupBy(['node', 'action'])

const sessionsOfAll = statement((db, _none: object) => sessionsByNode(db))

const sessionsOf = statement((db, p: { accountId: string }) => sessionsByNode(db).where('account_id', '=', p.accountId))

const bytes = statement((db, p: ActivityQuery) =>
  db
    .selectFrom('account_minutes')
    .select('node')
    .select([
      sql<number>`cast(sum(bytes_in) as bigint)`.as('bytes_in'),
      sql<number>`cast(sum(bytes_out) as bigint)`.as('bytes_out'),
    ])
    .where('account_id', '=', p.accountId)
    .where('minute_ms', '>=', p.fromMs)
    .where('minute_ms', '<', p.untilMs)
    .groupBy('node'),
)

const feedsOfAll = statement((db, _none: object) =>
  db
    .selectFrom('feeds')
    .select('node')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('ended_at_ms', 'is', null)
    .groupBy('node'),
)

/** What each node has open, of all accounts. Nodes without anything are left out. */
export async function openAtNodes(executor: Executor): Promise<OpenAtNode[]> {
  const [sessions, feeds] = await Promise.all([executor.all(sessionsOfAll, {}), executor.all(feedsOfAll, {})])
  const names = new Set([...sessions, ...feeds].map(({ node }) => node))
  return [...names].map((node) => {
    const onAir = feeds.find((row) => row.node === node)?.n ?? 0
    return { node, ...clientsAt(node, sessions), feeds: onAir }
  })
}

/** What each node does for an account. Nodes that do nothing are left out. */
export async function nodeActivity(executor: Executor, query: ActivityQuery): Promise<NodeActivity[]> {
  const [sessions, sums] = await Promise.all([executor.all(sessionsOf, query), executor.all(bytes, query)])
  const names = new Set([...sessions, ...sums].map(({ node }) => node))
  return [...names].map((node) => {
    const ofNode = sums.find((row) => row.node === node)
    return {
      node,
      ...clientsAt(node, sessions),
      bytesIn: ofNode?.bytes_in ?? 0,
      bytesOut: ofNode?.bytes_out ?? 0,
    }
  })
}

interface SessionCount {
  readonly node: string
  readonly action: string
  readonly n: number
}

function clientsAt(node: string, sessions: readonly SessionCount[]): Pick<NodeActivity, 'publishers' | 'viewers'> {
  const count = (action: string): number => sessions.find((row) => row.node === node && row.action === action)?.n ?? 0
  return { publishers: count('publish'), viewers: count('view') }
}
