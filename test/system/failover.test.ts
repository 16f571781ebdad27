import { describe, expect, onTestFinished, test } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { findBinaries } from '../support/postgres.setup.ts'
import { ask, pair, synchronize, urlOf } from '../support/postgresPair.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { type Connection, makeToken, publish, view } from '../support/testNode.ts'
import { pace, until } from '../support/until.ts'

describe.skipIf(!findBinaries())('a primary that is lost, with a synchronous standby', () => {
  test('takes nothing along that was acknowledged: nodes and their sessions go on at the standby, and all sums are right', async () => {
    const [primary, standby] = await pair()
    const url = urlOf([primary, standby])
    const nodes = [await busyNode(url, 'one'), await busyNode(url, 'two')]
    await synchronize(primary)
    const ids = nodes.map(({ id }) => id())
    await until(() => nodes.every((node) => node.tokens.length > 5 && node.left > 5))

    await primary.stop('immediate')
    await until(() => nodes.every(({ refusals }) => refusals() > 0))
    await ask(standby, 'select pg_promote()::int')
    const before = nodes.map(({ tokens, left }) => ({ tokens: tokens.length, left }))
    await until(() => nodes.every((node, at) => node.tokens.length > (before[at]?.tokens ?? 0) + 5))
    await until(() => nodes.every((node, at) => node.left > (before[at]?.left ?? 0) + 5))
    // Each renews its lease there, before another one may judge it.
    const seen = async () => Math.min(...(await ask(standby, 'select seen_at_ms from serving_nodes')))
    const promoted = Math.max(...(await ask(standby, 'select seen_at_ms from serving_nodes')))
    await until(async () => (await seen()) > promoted)
    expect(nodes.map(({ id }) => id())).toEqual(ids)
    expect(nodes.flatMap(({ cuts }) => cuts())).toEqual([])
    expect(await ask(standby, 'select count(*) from feeds where ended_at_ms is null')).toEqual([2])

    for (const node of nodes) await node.end()
    const stored = new Set(await ask(standby, 'select id from tokens'))
    expect(nodes.flatMap(({ tokens }) => tokens).filter((id) => !stored.has(id))).toEqual([])
    const sent = nodes.reduce((sum, node) => sum + node.sent(), 0)
    const sumsOf = 'select coalesce(sum(bytes_out), 0) from'
    const sums = async () => [
      ...(await ask(standby, `${sumsOf} sessions where ended_at_ms is not null`)),
      ...(await ask(
        standby,
        `${sumsOf} (select bytes_out from usage where span = 'hour' and stream_name <> ''
          union all select bytes_out from node_usage) u`,
      )),
    ]
    await until(async () => (await ask(standby, 'select count(*) from sessions where ended_at_ms is null'))[0] === 0)
    await until(async () => (await sums())[1] === sent)
    expect(await sums()).toEqual([sent, sent])
    const all = await ask(standby, 'select count(*) from sessions')
    expect(all[0]).toBeGreaterThanOrEqual(nodes.reduce((sum, { admitted }) => sum + admitted(), 0))
  })
})

/** A node with a publisher, whose viewers come, watch and leave, while tokens are made. */
async function busyNode(url: string, streamName: string) {
  const secrets = { sealingKey: SEALING_KEY }
  const app = await runApp({ flags: { storage: { url }, secrets, sessions: { flushSeconds: 1 } } })
  onTestFinished(() => app.close())
  const { ctx } = app.app
  const at = { ctx, accountId: app.accountId }
  const { token } = await makeToken(app, 'publish')
  const publisher = await publish(at, { presented: token, streamName })
  const over = new AbortController()
  const [open, all]: [Connection[], Connection[]] = [[], [publisher]]
  const bytes = new Map<string, number>()
  const counts = { left: 0, refused: 0 }
  const tokens: number[] = []

  const join = async (): Promise<void> => {
    const viewer = await view(at, { streamName })
    open.push(viewer)
    all.push(viewer)
  }
  const watch = (): void => {
    for (const { session } of open) {
      const bytesOut = (bytes.get(session.id) ?? 0) + 1000
      bytes.set(session.id, bytesOut)
      countBytes(ctx, session.id, { bytesIn: 0, bytesOut })
    }
  }
  const leave = async (): Promise<void> => {
    const viewer = open.shift()
    if (viewer === undefined) return
    await closeSession(ctx, viewer.session.id, 'left')
    counts.left += 1
  }
  const repeat = async (what: () => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await what().catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error
        counts.refused += 1
      })
      await pace(20)
    }
  }
  const make = async (): Promise<void> => {
    const { status, json } = await makes(app)
    if (status === 200) tokens.push(json.data.id as number)
    else counts.refused += 1
  }
  const come = async (): Promise<void> => {
    watch()
    await join()
    if (open.length > 5) await leave()
  }
  const traffic = [make, come].map(repeat)
  const stop = async (): Promise<void> => {
    over.abort()
    await Promise.all(traffic)
  }
  onTestFinished(stop)
  return {
    tokens,
    id: () => ctx.sessions.node,
    get left() {
      return counts.left
    },
    refusals: () => counts.refused,
    admitted: () => all.length,
    cuts: () => all.flatMap(({ cuts }) => cuts),
    sent: () => [...bytes.values()].reduce((sum, n) => sum + n, 0),
    async end() {
      await stop()
      while (open.length > 0) await leave()
      await closeSession(ctx, publisher.session.id, 'left')
    },
  }
}

const makes = (app: RunningApp) =>
  app.call('POST', '/api/subscribe_token', { label: 'x', streams: [{ streamName: 'x' }] })
