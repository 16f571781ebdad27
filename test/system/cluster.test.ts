import { connected } from '../support/postgres.ts'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Context } from '../../src/commands/context.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { emitIdleStreams } from '../../src/commands/sessions/viewing.ts'
import { runSchedulers } from '../../src/commands/channels/schedules/occurrences.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { crowd } from '../support/crowd.ts'
import { holdEnds } from '../support/holdEnds.ts'
import {
  type Connection,
  eventsOf,
  type TestNode,
  makeToken,
  publish,
  startTestNode,
  view,
} from '../support/testNode.ts'
import { expireLease } from '../support/leases.ts'
import { until } from '../support/until.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'

const NODES = 4
const VIEWERS = 2_000

let place: Place
let nodes: RunningApp[]
beforeEach(async () => {
  place = await newPlace('PostgreSQL')
  nodes = []
})
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  await place.remove()
})

const atOf = ({ app, accountId }: RunningApp) => ({ ctx: app.ctx, accountId })

async function start(): Promise<RunningApp> {
  const secrets = { sealingKey: SEALING_KEY }
  const flags = { storage: { url: place.url }, secrets, rtmp: { enabled: false } }
  const node = await runApp({ flags, engine: new ScriptedEngine() })
  nodes.push(node)
  return node
}

async function openOf(client: Client, streamName: string): Promise<number> {
  const sql = 'select count(*)::int as n from sessions where stream_name = $1 and ended_at_ms is null'
  const { rows } = await client.query<{ n: number }>(sql, [streamName])
  return rows[0]?.n ?? 0
}

describe(`${NODES} nodes with ${VIEWERS} viewers each, on a PostgreSQL that holds up the ends of sessions`, () => {
  it('end the one stream that all viewers leave at once, and keep their leases and every other session', async () => {
    for (let n = 0; n < NODES; n += 1) await start()
    const [first] = nodes
    if (!first) throw new Error('no node')
    const { token } = await makeToken(first, 'publish')
    const steady = []
    const leaving: { ctx: Context; sessions: Session[] }[] = []
    for (const [n, node] of nodes.entries()) {
      const at = atOf(node)
      steady.push(await publish(at, { presented: token, streamName: `steady${n}` }))
      steady.push(await view(at, { streamName: `steady${n}` }))
      leaving.push({ ctx: at.ctx, sessions: await crowd(at.ctx, node.accountId, 'popular', VIEWERS) })
    }
    const holding = await holdEnds(place.url)

    for (const { ctx, sessions } of leaving) {
      for (const { id } of sessions) {
        countBytes(ctx, id, { bytesIn: 1, bytesOut: 1000 })
        void closeSession(ctx, id, 'left')
      }
    }
    // On one connection: each new one is a process of the server that is busy already.
    await connected(place.url, async (client) => {
      const sql = 'select id, seen_at_ms::text from serving_nodes order by id'
      const leases = async () => (await client.query<{ seen_at_ms: string }>(sql)).rows.map((row) => row.seen_at_ms)
      for (let round = 0; round < 2; round += 1) {
        const before = await leases()
        await until(async () => (await leases()).every((seen, n) => seen !== before[n]))
      }
      expect(await openOf(client, 'popular')).toBe(NODES * VIEWERS)
      await holding.release()
      await until(async () => (await openOf(client, 'popular')) === 0)
    })

    expect(steady.flatMap(({ cuts }) => cuts)).toEqual([])
    expect(await connected(place.url, (client) => openOf(client, 'steady0'))).toBe(2)
    await until(() => leaving.every(({ ctx }) => ctx.sessions.leaving.size === 0))
    expect(leaving.map(({ ctx }) => [...ctx.sessions.counts.ended])).toEqual(leaving.map(() => [['left', VIEWERS]]))
    const all = NODES * VIEWERS * 1000
    await connected(place.url, async (client) => {
      const sql = `select coalesce(sum(bytes_out), 0)::int as n from usage where span = 'hour' and stream_name = 'popular'`
      const counted = async () => (await client.query<{ n: number }>(sql)).rows
      // Each node adds its rows in a round after the last of these viewers has left.
      await until(async () => ((await counted())[0]?.n ?? 0) >= all)
      const rows = await client.query('select ord from node_usage where bytes_out > 0')
      expect([await counted(), rows.rows]).toEqual([[{ n: all }], []])
    })
  })
})

describe('nodes whose clocks are a minute ahead and a minute behind', () => {
  const live: TestNode[] = []
  afterEach(async () => {
    for (const node of live.splice(0)) await node.close()
  })

  it('cause no fault: no session ends, no channel starts early, and no stream is reported without viewers', async () => {
    for (const aheadMs of [0, 60_000, -60_000]) {
      live.push(await startTestNode({ url: place.url, machineClock: shifted(aheadMs), renewed: true }))
    }
    const [right, ahead, behind] = live
    if (!right || !ahead || !behind) throw new Error('no node')
    const { token } = await makeToken(right, 'publish')
    const connections: Connection[] = []
    for (const [n, node] of live.entries()) {
      connections.push(await publish(node, { presented: token, streamName: `of${n}` }))
      connections.push(await view(node, { streamName: `of${n}` }))
    }
    // The last viewer's node is behind, so to other nodes the viewer seems to have left long ago.
    const last = await view(behind, { streamName: 'of2' })
    for (const { session } of [last, ...connections.filter(({ session }) => session.streamName === 'of2')]) {
      if (session.action === 'view') await closeSession(behind.ctx, session.id, 'left')
    }
    await plan(right, 30_000)

    for (const { node } of [...live, ...live]) await node.sweep()
    for (const { ctx } of live) expect(await emitIdleStreams(ctx, 55_000)).toBe(0)
    for (const { ctx } of live) await runSchedulers(ctx)

    expect(connections.flatMap(({ cuts }) => cuts)).toEqual([])
    expect(await right.ctx.store.read.nodes.list()).toMatchObject(live.map(() => ({ isExpired: false })))
    const names = (await eventsOf(right)).map(({ name }) => name)
    expect(names.filter((name) => !/ FirstViewer| started/.test(name))).toEqual([])
    const nowMs = await right.ctx.store.time()
    for (const { ctx } of live) expect(Math.abs(ctx.clock.now() - nowMs)).toBeLessThan(30_000)
  })
})

const shifted = (aheadMs: number): Clock => ({ ...systemClock, now: () => systemClock.now() + aheadMs })

/** A scheduler that is due in this number of milliseconds. */
async function plan({ ctx, accountId }: TestNode, inMs: number): Promise<void> {
  const atMs = await ctx.store.time()
  const times = { startDate: '2026-01-01', startTime: '00:00', endDate: null, endTime: null, recurrence: null }
  await ctx.store.transaction((tx) =>
    tx.schedulers.insert({
      ...times,
      id: 'sc_soon',
      accountId,
      name: 'Soon',
      enabled: true,
      channels: [],
      timeZone: 'UTC',
      status: 'idle',
      occurrence: null,
      seenUntilMs: atMs,
      nextAtMs: atMs + inMs,
      createdAtMs: atMs,
      updatedAtMs: atMs,
    }),
  )
}

describe('a node that stalls for longer than its lease, and continues', () => {
  let here: TestNode
  let child: ChildProcessByStdio<Writable, Readable, null>
  const reports: Report[] = []
  beforeEach(async () => {
    here = await startTestNode({ url: place.url, renewed: true })
    const program = new URL('../support/clusterNode.ts', import.meta.url).pathname
    child = spawn(process.execPath, [program, place.url], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: child.stdout }).on('line', (line) => reports.push(JSON.parse(line) as Report))
    await until(() => reports.length > 0)
  })
  afterEach(async () => {
    child.kill('SIGKILL')
    await here.close()
  })

  it('ends only its own sessions, takes no stream from the new publishers, and serves again', async () => {
    const { token } = await makeToken(here, 'publish')
    const own = [await publish(here, { presented: token, streamName: 'own' }), await view(here, { streamName: 'own' })]
    child.kill('SIGSTOP')
    const stalled = reports[0]?.node ?? ''
    await until(async () => {
      // Its lease expires. The database may still have a last renewal of it to do.
      await expireLease(place.url, stalled)
      await here.node.sweep()
      return (await here.ctx.store.read.nodes.list()).length === 1
    })
    for (const id of reports[0]?.sessions ?? []) {
      expect(await here.ctx.store.read.sessions.get(id)).toMatchObject({ endReason: 'lost' })
    }
    // The publishers have moved to this node meanwhile.
    for (const streamName of ['moving', 'taken']) own.push(await publish(here, { presented: token, streamName }))
    // The first event that the stalled node handles: media of the publisher that it had admitted.
    child.stdin.write('go\n')
    child.kill('SIGCONT')
    await until(
      () => reports.some(({ again }) => again !== undefined) && reports.some(({ wentLive }) => wentLive !== undefined),
    )

    for (let round = 0; round < 3; round += 1) await here.node.sweep()
    expect(reports.find(({ wentLive }) => wentLive !== undefined)?.wentLive).toBe(false)
    expect(reports.find(({ again }) => again !== undefined)?.cuts).toEqual([['lost'], ['lost'], ['lost']])
    expect(own.flatMap(({ cuts }) => cuts)).toEqual([])
    const feeds = await here.ctx.store.read.feeds.remote('', 10)
    expect(feeds.map(({ streamName }) => streamName).toSorted()).toEqual(['again', 'moving', 'own', 'taken'])
    const idsOf = async (name: string) =>
      (await eventsOf(here)).filter((event) => event.name === name).map(({ data }) => String(data['feedId']))
    const ended = await idsOf('feeds ended')
    expect(await idsOf('feeds started')).toHaveLength(5)
    expect([ended.length, new Set(ended).size]).toEqual([1, 1])
  })
})

interface Report {
  node?: string
  sessions?: string[]
  wentLive?: boolean | string
  again?: string
  cuts?: string[][]
}
