import { existsSync } from 'node:fs'
import { errorText } from '../base/errorCode.ts'
import { isRunning } from '../base/processes.ts'
import { CLOCK_SKEW_MS } from '../base/time.ts'
import { readAttention } from '../commands/attention.ts'
import type { Context } from '../commands/context.ts'
import { nodeFactsNow, unlinkedNodes } from '../commands/nodes/listNodes.ts'
import { listTokens } from '../commands/tokens/readTokens.ts'
import { hostKeyOf, lostKey } from '../config/dataDirectory.ts'
import { isPostgres, storageUrl } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'
import { judgeClock } from './doctorClock.ts'
import { checkAcme } from './doctorTls.ts'

/** Bounds of what is read and shown, so that each check ends within seconds. */
const ACCOUNTS_MAX = 100
const TEXTS_MAX = 100

/** Runs a check on the opened store. */
export type WithStore = <T>(check: (ctx: Context) => Promise<T>) => Promise<T>

/** Checks the store as a server uses it: reads and writes it, and opens a sealed value. */
export async function checkStore(config: Config, withStore: WithStore): Promise<Finding[]> {
  const lost = lostKey(config)
  if (lost !== null) return [found('FAIL', 'sealing key', 'text', { text: lost })]
  const file = fileOf(config)
  if (file !== null && !existsSync(file)) return [found('warn', 'store', 'store_new', { file })]
  try {
    return await withStore((ctx) => checkOpened(ctx, config, file ?? 'PostgreSQL'))
  } catch (error) {
    return [found('FAIL', 'store', 'text', { text: errorText(error) })]
  }
}

/** The file of the database; null: it is in PostgreSQL. */
const fileOf = (config: Config): string | null => (isPostgres(config) ? null : storageUrl(config))

/** The process of a server with this data directory, by its row in the store; null: none runs, or the store cannot say. */
export async function ownServer(config: Config, withStore: WithStore): Promise<number | null> {
  const file = fileOf(config)
  if (lostKey(config) !== null || (file !== null && !existsSync(file))) return null
  const hostKey = hostKeyOf(config.data.dir)
  try {
    const nodes = await withStore(({ store }) => store.read.nodes.list())
    return nodes.find((node) => node.hostKey === hostKey && isRunning(node.pid))?.pid ?? null
  } catch {
    return null
  }
}

async function checkOpened(ctx: Context, config: Config, name: string): Promise<Finding[]> {
  await ctx.store.ping()
  const store = await checkPages(ctx, name)
  // Other checks might read the damage.
  if (store.some(({ outcome }) => outcome === 'FAIL')) return store
  const server = [...(await checkConnections(ctx)), ...(await checkDatabaseClock(ctx))]
  const [sealing, ahead] = [await checkSealing(ctx), await checkAhead(ctx)]
  const own = [...(await checkAcme(ctx, config)), ...(await checkHandover(ctx, config))]
  return [...store, ...server, sealing, ahead, ...own, ...(await checkAttention(ctx))]
}

async function checkPages({ store }: Context, name: string): Promise<Finding[]> {
  const pages = await store.checkPages()
  if (pages?.state === 'damaged') return [found('FAIL', 'store', 'store_damaged', { name, problem: pages.problem })]
  const usable = found('ok', 'store', 'store', { name })
  return pages?.state === 'large' ? [usable, found('ok', 'store', 'store_large', { name })] : [usable]
}

/** Reads one token of each kind and account, which opens its sealed value. */
async function checkSealing(ctx: Context): Promise<Finding> {
  const accounts = await ctx.store.read.accounts.list()
  let opened = 0
  try {
    for (const { id } of accounts.slice(0, ACCOUNTS_MAX)) opened += await openOneOfEach(ctx, id)
  } catch (error) {
    return found('FAIL', 'sealing key', 'sealing_wrong', { problem: errorText(error) })
  }
  return found('ok', 'sealing key', opened === 0 ? 'sealing_unused' : 'sealing')
}

async function openOneOfEach(ctx: Context, accountId: string): Promise<number> {
  let opened = 0
  for (const kind of ['publish', 'subscribe'] as const) {
    const page = await listTokens(ctx, accountId, kind, { itemsOnPage: '1' })
    if (page.ok) opened += page.value.records.length
  }
  return opened
}

/** Whether the database server has connections left for one more node. */
async function checkConnections({ store }: Context): Promise<Finding[]> {
  const connections = await store.connections()
  if (connections === null) return []
  const { ours, open, most, isDurable } = connections
  const check = 'connections'
  const settings = isDurable
    ? found('ok', 'database settings', 'database_durable')
    : found('warn', 'database settings', 'database_not_durable')
  if (most - open >= ours) return [found('ok', check, 'connections', { ours, most, open }), settings]
  return [found('warn', check, 'connections_few', { ours, most, open }), settings]
}

/**
 * Leases, dates and schedules use the database's clock, so a wrong clock on this machine does no harm, but it needs
 * attention.
 */
async function checkDatabaseClock({ store }: Context): Promise<Finding[]> {
  if ((await store.connections()) === null) return []
  const aheadMs = Date.now() - (await store.time())
  const { side, seconds } = judgeClock(-aheadMs)
  const check = 'clock and database'
  return [
    side === null ? found('ok', check, 'database_clock') : found('warn', check, `database_clock_${side}`, { seconds }),
  ]
}

/**
 * What becomes of WebRTC viewers of a stream at another node, by what the nodes have met: a check of its own could not tell whether
 * UDP passes between two of them. What does not work is in `checkAttention`, with its remedy.
 */
async function checkHandover(ctx: Context, { server: { handover, nodeUrl } }: Config): Promise<Finding[]> {
  const nodes = (await ctx.store.read.nodes.list()).filter(({ isExpired }) => !isExpired)
  if (nodes.length < 2) return []
  const check = 'handover'
  if (nodeUrl === '') return [found('warn', check, 'handover_no_url')]
  const alike = nodes.filter(({ url, drainingSinceMs }) => url === nodeUrl && drainingSinceMs === null).length
  if (alike > 1) return [found('warn', check, 'handover_same_url', { url: nodeUrl, nodes: alike })]
  if (handover === 'redirect') return [found('ok', check, 'handover_redirect')]
  const facts = await nodeFactsNow(ctx)
  const streams = [...facts.values()].flatMap(({ links }) => links ?? []).reduce((sum, link) => sum + link.borrowed, 0)
  const failed = unlinkedNodes(nodes, facts).length
  if (failed > 0) return [found('warn', check, 'handover_fails', { streams, failed })]
  return [streams === 0 ? found('ok', check, 'handover_unused') : found('ok', check, 'handover_works', { streams })]
}

/** What `GET /api/attention` answers, for all accounts, but for what has a line of its own. Nothing of it keeps Sluice from running. */
async function checkAttention(ctx: Context): Promise<Finding[]> {
  const accounts = (await ctx.store.read.accounts.list()).slice(0, ACCOUNTS_MAX)
  const items = await Promise.all(
    accounts.map(({ id }) => readAttention(ctx, id, { recordings: null, certificate: null, addonProblem: null })),
  )
  const byText = new Map(items.flat().map((item) => [item.text, item]))
  if (byText.size === 0) return [found('ok', 'attention', 'attention')]
  return [...byText.values()]
    .slice(0, TEXTS_MAX)
    .map(({ text, sentences }) => ({ ...found('warn', 'attention', 'text', { text }), sentences }))
}

/** A change recorded in the future means that another clock is ahead of ours, or that ours went back. */
async function checkAhead(ctx: Context): Promise<Finding> {
  const accounts = await ctx.store.read.accounts.list()
  const rows = await Promise.all(accounts.slice(0, ACCOUNTS_MAX).map(({ id }) => ctx.store.read.audit.recent(id, 1)))
  const latestMs = Math.max(0, ...accounts.map((account) => account.createdAtMs), ...rows.flat().map((row) => row.atMs))
  const aheadMs = latestMs - ctx.clock.now()
  if (aheadMs <= CLOCK_SKEW_MS) return found('ok', 'clock and store', 'store_clock')
  return found('FAIL', 'clock and store', 'store_clock_ahead', { seconds: Math.round(aheadMs / 1000) })
}
