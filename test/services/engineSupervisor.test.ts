import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { EngineSupervisor } from '../../src/services/engineSupervisor.ts'
import { engineRecords } from '../../src/commands/channels/runs/engineRecords.ts'
import type { TranscodeEvent, TranscodeJob, TranscodeLog, Transcoder } from '../../src/core/channels/runs/transcoder.ts'
import { createChannel } from '../../src/commands/channels/channels.ts'
import { claimIngests } from '../../src/commands/channels/runs/ingestClaims.ts'
import { deleteEngine } from '../../src/commands/channels/engines.ts'
import { startChannel, stopChannel } from '../../src/commands/channels/runs/start.ts'
import type { Actor, Context } from '../../src/commands/context.ts'
import type { Leases } from '../../src/store/store.ts'
import { evenTime, expireLease, renewLease } from '../support/leases.ts'
import { silentLog } from '../support/log.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

/** Does nothing by itself; a test sends its events. */
class Scripted implements Transcoder {
  readonly jobs = new Map<string, (event: TranscodeEvent | TranscodeLog) => void>()
  launches: TranscodeJob[] = []

  launch(job: TranscodeJob, report: (event: TranscodeEvent | TranscodeLog) => void): void {
    // What ran before has to be killed, also if it died: processes of it may be left.
    if (this.jobs.has(job.engineId)) throw new Error('it runs already')
    this.launches.push(job)
    this.jobs.set(job.engineId, report)
  }

  /** Happens while a process is being killed. */
  whileKilling: (engineId: string) => Promise<unknown> = () => Promise.resolve()

  async kill(engineId: string): Promise<void> {
    await this.whileKilling(engineId)
    this.jobs.delete(engineId)
  }

  isRunning(engineId: string): boolean {
    return this.jobs.has(engineId)
  }
}

let testNode: TestNode
let ctx: Context
let actor: Actor
const clock = new ManualClock()

beforeAll(async () => {
  testNode = await startTestNode({ clock })
  ctx = testNode.ctx
  actor = { kind: 'credential', id: 7, accountId: testNode.accountId, address: null, requestId: null }
})
afterAll(() => testNode.close())

const HOUR_MS = 3_600_000

let nodes = 0
function keeperWith(transcoder: Scripted, isGone = (): boolean => false, time = ctx.time) {
  const node = `node ${(nodes += 1)}`
  const at = { node, isGone, leaseMs: 15_000 }
  const records = engineRecords({ ...ctx, time }, at)
  const load = { noticeFor: () => [] }
  const kept = new Set<string>()
  const leases: Leases = { keep: ({ id }) => void kept.add(id), release: async (id) => void kept.delete(id) }
  const keeper = new EngineSupervisor({ ...at, records, transcoder, load, leases, takes: () => true, log: silentLog })
  /** Reconciles until nothing changes. */
  const settle = async (): Promise<void> => {
    for (let looks = 0; looks < 4; looks += 1) await keeper.reconcile()
  }
  return { keeper, settle, node, hasLease: () => kept.has(node) }
}

async function makeChannel(timeout = 0): Promise<{ channelId: string; engineId: string }> {
  const engines = [{ name: 'Main', region: 'local', quality: { abrLadderId: 'ab_default' } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', region: 'local', engines }]
  const made = await createChannel(ctx, actor, { name: 'Stage', timeout, ingests })
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  return { channelId: made.value.id, engineId: made.value.engines[0]?.id ?? '' }
}

const engineOf = (id: string) => ctx.store.read.engines.get(actor.accountId, id)
const runsOf = (engineId: string) => ctx.store.read.runs.page({ engineId, limit: 10 })

async function started(settings: { timeout?: number } = {}) {
  const made = await makeChannel(settings.timeout)
  const transcoder = new Scripted()
  const { keeper, settle, node, hasLease } = keeperWith(transcoder)
  expect(hasLease()).toBe(false)
  await startChannel(ctx, actor, made.channelId)
  await settle()
  const report = async (event: TranscodeEvent | TranscodeLog): Promise<void> => {
    transcoder.jobs.get(made.engineId)?.(event)
    await keeper.reconcile()
  }
  return { ...made, transcoder, keeper, settle, report, node, hasLease }
}

type Started = Awaited<ReturnType<typeof started>>

describe('a node', () => {
  test('renews the leases of engines as long as it has one', async () => {
    const { channelId, settle, hasLease } = await started()
    expect(hasLease()).toBe(true)
    await stopChannel(ctx, actor, channelId)
    await settle()
    expect(hasLease()).toBe(false)
  })

  test('starts a wanted engine once, and stops it when it is no longer wanted', async () => {
    const { channelId, engineId, transcoder, settle, report } = await started()
    await report({ kind: 'ready' })
    expect([(await engineOf(engineId))?.status, transcoder.launches.length]).toEqual(['waiting', 1])
    await stopChannel(ctx, actor, channelId)
    expect((await engineOf(engineId))?.status).toBe('stopping')
    await settle()
    expect([(await engineOf(engineId))?.status, transcoder.jobs.size]).toEqual(['stopped', 0])
  })

  test('ignores events of an earlier process, and a failed one may report another source', async () => {
    const { channelId, engineId, transcoder, keeper, settle, report } = await started()
    const early = transcoder.jobs.get(engineId)
    await report({ kind: 'ready' })
    await report({ kind: 'died', message: 'it broke' })
    expect(await engineOf(engineId)).toMatchObject({ status: 'error', statusMessage: { text: 'it broke' } })
    await report({ kind: 'source' })
    expect((await engineOf(engineId))?.status).toBe('ingesting')
    await report({ kind: 'died', message: 'it broke again' })
    clock.advance(1000)
    await settle()
    expect([(await engineOf(engineId))?.status, transcoder.launches.length]).toEqual(['starting', 2])
    early?.({ kind: 'source' })
    await keeper.reconcile()
    expect((await engineOf(engineId))?.status).toBe('starting')
    await report({ kind: 'ready' })
    expect((await engineOf(engineId))?.status).toBe('waiting')
    await stopChannel(ctx, actor, channelId)
    await settle()
  })

  test('takes over from a dead node: its run ends at the last renewal, and a new run begins', async () => {
    const { engineId, report, node } = await started()
    await report({ kind: 'ready' })
    const lastMs = await ctx.store.time()
    await renewLease(testNode.url, { kind: 'engines', id: node, leaseMs: 15_000 })
    // Renewals have the time of the database, which no clock of a node is behind.
    clock.advance((await ctx.store.time()) - clock.now())
    const other = new Scripted()
    const { settle, keeper } = keeperWith(other, () => true)
    await settle()
    const [now, before] = await runsOf(engineId)
    expect(before).toMatchObject({ start: { type: 'api' }, stop: { type: 'error' } })
    expect(before?.endedAtMs).toBeGreaterThanOrEqual(lastMs)
    expect(before?.endedAtMs).toBeLessThanOrEqual(await ctx.store.time())
    expect(now).toMatchObject({ endedAtMs: null, start: { type: 'api', id: 'credential:7' } })
    expect(other.launches).toHaveLength(1)
    await keeper.stop()
  })

  test('does not touch engines of another node until its lease has expired', async () => {
    const { engineId, channelId, node } = await started()
    const other = new Scripted()
    let isEven = true
    const { settle, keeper } = keeperWith(other, undefined, { ...evenTime, isEven: () => Promise.resolve(isEven) })
    // This node's own clock has no influence.
    clock.advance(60_000)
    const read = vi.spyOn(ctx.store.read.engines, 'all')
    await settle()
    expect(other.launches).toEqual([])
    // Not even reads them: each node looks once a second.
    expect(read.mock.calls.flat(2)).not.toContain(engineId)
    read.mockRestore()
    await expireLease(testNode.url, node, 'engines')
    isEven = false
    await settle()
    expect(other.launches).toEqual([])
    isEven = true
    await settle()
    expect(other.launches.map((job) => job.engineId)).toContain(engineId)
    await stopChannel(ctx, actor, channelId)
    await keeper.stop()
  })

  test('closes its runs when it shuts down, and the next process continues them', async () => {
    const { engineId, keeper, transcoder, channelId } = await started()
    await keeper.stop()
    expect((await engineOf(engineId))?.status).toBe('stopped')
    expect((await runsOf(engineId))[0]).toMatchObject({ stop: { type: 'shutdown' } })
    expect(transcoder.jobs.size).toBe(0)
    const next = new Scripted()
    const { settle, keeper: later } = keeperWith(next)
    await settle()
    expect((await runsOf(engineId)).map(({ stop }) => stop?.type)).toEqual([undefined, 'shutdown'])
    await stopChannel(ctx, actor, channelId)
    await settle()
    await later.stop()
    expect((await runsOf(engineId))[0]).toMatchObject({ stop: { type: 'api' } })
  })

  test.each([
    ['takes an engine down', (at: Started) => stopChannel(ctx, actor, at.channelId).then(at.settle)],
    ['shuts down', (at: Started) => at.keeper.stop()],
  ])('that %s does not release the lease of a node that took the engine meanwhile', async (_, act) => {
    const at = await started()
    at.transcoder.whileKilling = (engineId) =>
      ctx.store.transaction((tx) => tx.engineStates.take(engineId, 'another node', 15_000))
    await act(at)
    expect(await ctx.store.read.engineStates.get(at.engineId)).toMatchObject({ node: 'another node' })
    await ctx.store.transaction((tx) => tx.engineStates.delete(at.engineId))
  })

  test('emits the log lines of a process, and the errors of its own engines only', async () => {
    const { engineId, channelId, report, keeper, settle } = await started()
    const logged = async () => {
      const events = await ctx.store.read.outbox.pending(1000)
      const mine = events.filter(({ event, data }) => event.startsWith('engine.log.') && data.includes(engineId))
      return mine.map(({ event, data }) => [event, (JSON.parse(data) as { data: object }).data])
    }
    await report({ kind: 'ready' })
    await report({ kind: 'log', level: 'warn', message: 'The source does not answer' })
    const waiting = { status: 'waiting', statusMessage: { text: 'The source does not answer' } }
    expect(await engineOf(engineId)).toMatchObject(waiting)
    await report({ kind: 'log', level: 'info', message: 'The source has h264 video' })
    expect(await engineOf(engineId)).toMatchObject(waiting)
    await report({ kind: 'died', message: 'no more' })
    const all = [
      ['engine.log.warn', { message: 'The source does not answer' }],
      ['engine.log.info', { message: 'The source has h264 video' }],
      ['engine.log.error', { message: 'no more' }],
    ]
    expect(await logged()).toEqual(all)
    expect((await engineOf(engineId))?.status).toBe('error')
    await stopChannel(ctx, actor, channelId)
    await settle()
    await report({ kind: 'log', level: 'warn', message: 'too late' })
    expect(await logged()).toEqual(all)
    await keeper.stop()
  })

  test('stops a channel that has had no source for its timeout, although the clock is set meanwhile', async () => {
    const { engineId, report, settle } = await started({ timeout: 60 })
    await report({ kind: 'ready' })
    const [ahead, right] = [[2 * HOUR_MS, 59_999, 'waiting'] as const, [-2 * HOUR_MS, 1, 'stopped'] as const]
    for (const [setMs, passesMs, status] of [ahead, right]) {
      clock.setWall(setMs)
      clock.advance(passesMs)
      await settle()
      expect((await engineOf(engineId))?.status).toBe(status)
    }
    expect((await runsOf(engineId))[0]).toMatchObject({ stop: { type: 'timeout' } })
  })

  test('stops and starts the other engines when one of them cannot be stopped', async () => {
    const { channelId, engineId, transcoder, settle } = await started()
    const other = await makeChannel()
    transcoder.whileKilling = (id) => (id === engineId ? Promise.reject(new Error('stuck')) : Promise.resolve())
    await stopChannel(ctx, actor, channelId)
    await startChannel(ctx, actor, other.channelId)
    await settle()
    expect([(await engineOf(engineId))?.status, (await engineOf(other.engineId))?.status]).toEqual([
      'stopping',
      'starting',
    ])
    transcoder.whileKilling = () => Promise.resolve()
    await stopChannel(ctx, actor, other.channelId)
    await settle()
    expect([(await engineOf(engineId))?.status, (await engineOf(other.engineId))?.status]).toEqual([
      'stopped',
      'stopped',
    ])
  })

  test('closes the run of an engine that was deleted in error', async () => {
    const { engineId, report, settle, transcoder } = await started()
    await report({ kind: 'ready' })
    await report({ kind: 'died', message: 'broken' })
    const gone = await deleteEngine(ctx, actor, engineId)
    await settle()
    const [run] = await runsOf(engineId)
    expect([gone.ok, run?.endedAtMs === null, transcoder.jobs.size]).toEqual([true, false, 0])
  })
})

describe('two nodes, and a publisher at one of them', () => {
  const TIMES = { claimMs: 15_000, pauseMs: 0 }
  const ingestOf = async (engineId: string) => (await engineOf(engineId))?.ingestId ?? ''
  const claim = async (engineId: string, node: string, connectedAtMs = clock.now(), times = TIMES) => {
    const ingestId = await ingestOf(engineId)
    await ctx.store.transaction((tx) => tx.ingestClaims.claim({ ingestId, node, connectedAtMs }, times))
  }
  const nodeOf = async (engineId: string) => (await ctx.store.read.engineStates.get(engineId))?.node

  test('the engine goes there in its run, after its process here has ended', async () => {
    const { engineId, channelId, transcoder, settle, report, node } = await started()
    for (const kind of ['ready', 'source', 'manifest'] as const) await report({ kind })
    const other = new Scripted()
    const there = keeperWith(other)
    await claim(engineId, there.node)
    let atWhileKilling: string | null | undefined
    transcoder.whileKilling = async () => void (atWhileKilling = await nodeOf(engineId))
    await settle()
    expect([atWhileKilling, await nodeOf(engineId)]).toEqual([node, there.node])
    expect((await engineOf(engineId))?.status).toBe('deploying')
    await there.settle()
    expect([other.launches.length, transcoder.jobs.size]).toEqual([1, 0])
    expect((await engineOf(engineId))?.status).toBe('starting')
    expect(await runsOf(engineId)).toMatchObject([{ endedAtMs: null }])
    // What the process at the first node still reports does not matter.
    await report({ kind: 'died', message: 'too late' })
    expect((await engineOf(engineId))?.status).toBe('starting')
    await stopChannel(ctx, actor, channelId)
    await there.settle()
    expect((await runsOf(engineId)).map(({ stop }) => stop?.type)).toEqual(['api'])
    await there.keeper.stop()
  })

  test('the engine begins there, and goes nowhere while the publisher is at its node', async () => {
    const [here, there] = [new Scripted(), new Scripted()]
    const [one, two] = [keeperWith(here), keeperWith(there)]
    const { channelId, engineId } = await makeChannel()
    await claim(engineId, two.node)
    await startChannel(ctx, actor, channelId)
    await one.settle()
    expect(await nodeOf(engineId)).toBeNull()
    await two.settle()
    await one.settle()
    await two.settle()
    expect([here.launches.length, there.launches.length, await nodeOf(engineId)]).toEqual([0, 1, two.node])
    await stopChannel(ctx, actor, channelId)
    await two.settle()
    for (const { keeper } of [one, two]) await keeper.stop()
  })

  test('the engine stays where it is when the claim of the other node has expired, or its process is gone', async () => {
    let isGone = false
    const transcoder = new Scripted()
    const { settle, keeper, node } = keeperWith(transcoder, () => isGone)
    const { channelId, engineId } = await makeChannel()
    await startChannel(ctx, actor, channelId)
    await settle()
    await claim(engineId, 'a node', clock.now(), { ...TIMES, claimMs: -1 })
    await settle()
    expect(await nodeOf(engineId)).toBe(node)
    await claim(engineId, 'a node')
    transcoder.whileKilling = () => ctx.store.transaction((tx) => tx.ingestClaims.release('a node'))
    await settle()
    expect(await nodeOf(engineId)).toBe(node)
    const others = transcoder.launches.length
    isGone = true
    await claim(engineId, 'a node', clock.now() + 1)
    await settle()
    const launches = transcoder.launches.slice(others).filter((job) => job.engineId === engineId)
    expect([await nodeOf(engineId), launches]).toEqual([node, []])
    await stopChannel(ctx, actor, channelId)
    await settle()
    await keeper.stop()
  })

  test('an engine that is stopped meanwhile stays stopped', async () => {
    const { engineId, channelId, transcoder, settle, report } = await started()
    await report({ kind: 'ready' })
    await claim(engineId, 'another node')
    transcoder.whileKilling = () => stopChannel(ctx, actor, channelId)
    await settle()
    expect([(await engineOf(engineId))?.status, await nodeOf(engineId)]).toEqual(['stopped', null])
  })

  test('publishers that connect to both in turn, while no time passes: their claim changes hands once', async () => {
    const { engineId, channelId, transcoder, settle, node } = await started()
    const other = new Scripted()
    const there = keeperWith(other)
    const ingestId = await ingestOf(engineId)
    const { ingestClaims } = ctx.store.read
    const claimsOf = ingestClaims.of.bind(ingestClaims)
    // The time of the database stands still after the first move.
    const held = vi.spyOn(ingestClaims, 'of').mockImplementation(async (ingestIds) => {
      const claims = [...(await claimsOf(ingestIds))]
      return new Map(claims.map(([id, claim]) => [id, claim.heldMs < HOUR_MS ? { ...claim, heldMs: 0 } : claim]))
    })
    let cuts = 0
    for (let turns = 0; turns < 40; turns += 1) {
      const at = turns % 2 === 0 ? there : { node, settle }
      clock.advance(1)
      cuts += (await claimIngests(ctx, at.node, [{ ingestId, connectedAtMs: clock.now() }])).length
      await settle()
      await there.settle()
    }
    held.mockRestore()
    // Where the engine started, at the first publisher, and back at the one that replaced it.
    expect([transcoder.launches.length, other.launches.length]).toEqual([2, 1])
    // Each was the newest.
    expect(cuts).toBe(0)
    await stopChannel(ctx, actor, channelId)
    for (const one of [{ settle }, there]) await one.settle()
  })
})
