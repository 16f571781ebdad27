import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { EngineStateRecord, Scheduler } from '../../src/store/store.ts'
import { newChannel, newEngine } from './store.channels.ts'
import { renewLease } from '../support/leases.ts'
import { newAccount, newRun, newScheduler } from './store.samples.ts'
import type { Stores } from './store.ts'

const id = (prefix: string) => `${prefix}_${randomBytes(11).toString('hex')}`
const AT = 1_750_000_000_000
const account = () => randomBytes(3).toString('hex')

/** Tests the contract of every store for runs and schedulers. */
export function runsSuite(stores: Stores): void {
  statesAndRuns(stores)
  publishers(stores)
  schedulers(stores)
}

function statesAndRuns(stores: Stores): void {
  describe('states of engines, and runs', () => {
    test('a state is stored and replaced, and its node renews its lease and its run', async () => {
      const run = newRun()
      const state: EngineStateRecord = {
        engineId: run.engineId,
        accountId: 'nobody',
        channelId: run.channelId,
        wanted: true,
        failures: 0,
        idleSinceMs: AT,
        retryAtMs: null,
        node: 'node 1',
        runId: run.id,
      }
      await stores.store.transaction(async (tx) => {
        await tx.runs.insert(run)
        await tx.engineStates.put({ ...state, failures: 3 })
        await tx.engineStates.put(state)
      })
      const isExpired = async () => (await stores.other.read.engineStates.get(state.engineId))?.isExpired
      // No node has taken it.
      expect(await isExpired()).toBe(true)
      const atMs = await stores.store.time()
      await renewLease(stores.url, { kind: 'engines', id: 'node 1', leaseMs: 60_000 })
      expect(await stores.other.read.engineStates.busy()).toContainEqual({ ...state, isExpired: false })
      expect(await stores.other.read.engineStates.get(state.engineId)).toEqual({ ...state, isExpired: false })
      const [renewed] = await stores.other.read.runs.page({ engineId: run.engineId, limit: 5 })
      expect(renewed).toEqual({ ...run, heartbeatAtMs: expect.any(Number) as number })
      expect(renewed?.heartbeatAtMs).toBeGreaterThanOrEqual(atMs)
      // A write leaves the lease unchanged; a take begins a new one.
      await stores.store.transaction((tx) => tx.engineStates.put({ ...state, failures: 1 }))
      expect(await isExpired()).toBe(false)
      // It ends later than any lease: the clock was put back, and its node has not renewed it.
      await stores.store.transaction((tx) => tx.engineStates.take(state.engineId, 'node 1', 3_600_000))
      expect(await isExpired()).toBe(true)
      await stores.store.transaction((tx) => tx.engineStates.take(state.engineId, 'node 2', -1))
      expect(await stores.other.read.engineStates.get(state.engineId)).toMatchObject({
        node: 'node 2',
        isExpired: true,
      })
      await stores.store.transaction(async (tx) => {
        const cause = { type: 'scheduler', id: 'sc_1', name: 'Daily' } as const
        await tx.runs.end(run.id, cause, { startedAtMs: AT - 1, endedAtMs: AT + 9 })
        await tx.runs.end(run.id, { type: 'api', id: 'late' }, { startedAtMs: AT, endedAtMs: AT + 99 })
        await tx.engineStates.delete(run.engineId)
      })
      const [ended] = await stores.other.read.runs.page({ channelId: run.channelId, limit: 5 })
      const stop = { type: 'scheduler', id: 'sc_1', name: 'Daily' }
      expect(ended).toMatchObject({ stop, startedAtMs: AT - 1, endedAtMs: AT + 9 })
    })

    test('a state is deleted with its engine, unless a node holds it or it should run', async () => {
      const channel = newChannel()
      const idle = { accountId: 'nobody', channelId: channel.id, failures: 0, idleSinceMs: null, retryAtMs: null }
      const states = [
        { wanted: false, node: null },
        { wanted: true, node: null },
        { wanted: false, node: 'node 2' },
        { wanted: false, node: null },
      ].map((one) => ({ ...idle, ...one, engineId: newEngine(channel).id, runId: null }))
      const left = () =>
        stores.store.transaction(async (tx) => {
          const found: boolean[] = []
          for (const { engineId } of states) found.push((await tx.engineStates.get(engineId)) !== undefined)
          return found
        })
      await stores.store.transaction(async (tx) => {
        await tx.channels.insert(channel)
        for (const state of states) {
          await tx.engines.insert(newEngine(channel, { id: state.engineId }))
          await tx.engineStates.put(state)
        }
        for (const { engineId } of states.slice(0, 3)) await tx.engines.delete(engineId)
      })
      expect(await left()).toEqual([false, true, true, true])
      // Of the engines that are there.
      const ofChannel = await stores.store.transaction((tx) => tx.engineStates.ofChannel(channel.id))
      expect(ofChannel.map(({ engineId }) => engineId)).toEqual(states.slice(3).map(({ engineId }) => engineId))
      await stores.store.transaction((tx) => tx.channels.delete(channel.id))
      expect(await left()).toEqual([false, true, true, false])
      await stores.store.transaction(async (tx) => {
        for (const { engineId } of states) await tx.engineStates.delete(engineId)
      })
    })

    test('runs are paged newest first, by channel or engine, and filtered by their times', async () => {
      const channelId = id('ch')
      const runs = [1, 2, 2, 3].map((n) =>
        newRun({ channelId, startedAtMs: AT + n, endedAtMs: n < 3 ? AT + n + 10 : null }),
      )
      await stores.store.transaction(async (tx) => {
        for (const run of runs) await tx.runs.insert(run)
      })
      const page = (query: object) => stores.other.read.runs.page({ channelId, limit: 10, ...query })
      const all = await page({})
      expect(all.map(({ startedAtMs }) => startedAtMs - AT)).toEqual([3, 2, 2, 1])
      const [, second] = all
      const after = { atMs: second?.startedAtMs ?? 0, id: second?.id ?? '' }
      expect(await page({ after })).toEqual(all.slice(2))
      expect(await page({ startedAfterMs: AT + 2 })).toEqual(all.slice(0, 1))
      expect(await page({ endedBeforeMs: AT + 12 })).toEqual(all.slice(3))
      expect(await page({ engineIds: [runs[0]?.engineId ?? ''] })).toEqual([runs[0]])
      expect(await page({ engineId: runs[1]?.engineId })).toEqual([runs[1]])
    })

    test('runs are found by an overlapping time range, and pruned long after their end', async () => {
      const channelId = id('ch')
      const times = [
        [1, 2],
        [3, null],
        [5, 9],
        [8, 20],
      ] as const
      const runs = times.map(([from, until]) =>
        newRun({ channelId, startedAtMs: from, endedAtMs: until, heartbeatAtMs: from }),
      )
      await stores.store.transaction(async (tx) => {
        for (const run of runs) await tx.runs.insert(run)
      })
      const within = (fromMs: number, untilMs: number, limit = 10) =>
        stores.other.read.runs.within({ channelId, fromMs, untilMs, limit })
      expect(await within(0, 100)).toEqual(runs)
      expect(await within(2, 8)).toEqual([runs[1], runs[2]])
      expect(await within(9, 9)).toEqual([runs[1], runs[3]])
      expect(await within(0, 100, 1)).toEqual([runs[0]])
      expect(await stores.store.transaction((tx) => tx.runs.prune(20, 1))).toBe(1)
      expect(await within(0, 100)).toHaveLength(3)
      expect(await stores.store.transaction((tx) => tx.runs.prune(20, 100))).toBeGreaterThan(0)
      expect(await within(0, 100)).toEqual([runs[1], runs[3]])
    })
  })
}

function publishers(stores: Stores): void {
  describe('claims of ingests by nodes with a publisher', () => {
    const TIMES = { claimMs: 60_000, pauseMs: 0 }
    const claim = (ingestId: string, node: string, connectedAtMs: number, times = TIMES, at = stores.store) =>
      at.transaction((tx) => tx.ingestClaims.claim({ ingestId, node, connectedAtMs }, times))
    const found = async (ingestId: string) => (await stores.other.read.ingestClaims.of([ingestId])).get(ingestId)

    test('are those of the newest publisher', async () => {
      const ingestId = id('in')
      expect(await found(ingestId)).toBeUndefined()
      expect(await claim(ingestId, 'node 1', AT)).toBe(true)
      expect(await found(ingestId)).toMatchObject({ node: 'node 1', connectedAtMs: AT })
      expect(await claim(ingestId, 'node 2', AT - 1, TIMES, stores.other)).toBe(false)
      expect(await claim(ingestId, 'node 2', AT, TIMES, stores.other)).toBe(false)
      expect(await claim(ingestId, 'node 2', AT + 1, TIMES, stores.other)).toBe(true)
      expect(await found(ingestId)).toMatchObject({ node: 'node 2', connectedAtMs: AT + 1 })
      // The other node's own publisher may be an older one, when a newer one has left.
      expect(await claim(ingestId, 'node 2', AT, TIMES)).toBe(true)
      const within = await stores.store.transaction((tx) => tx.ingestClaims.of([ingestId, id('in')]))
      expect([...within.keys()]).toEqual([ingestId])
    })

    test('expire, are renewed and are released, by the time of the database', async () => {
      const [mine, other] = [id('in'), id('in')]
      await claim(mine, 'node 1', AT, { ...TIMES, claimMs: -1 })
      expect((await found(mine))?.remainingMs).toBeLessThan(0)
      expect(await claim(mine, 'node 2', AT - 1)).toBe(true)
      const remaining = (await found(mine))?.remainingMs ?? 0
      expect(remaining).toBeGreaterThan(TIMES.claimMs / 2)
      expect(remaining).toBeLessThanOrEqual(TIMES.claimMs)
      await claim(other, 'node 3', AT)
      await stores.store.transaction((tx) => tx.ingestClaims.release('node 2'))
      expect((await found(mine))?.remainingMs).toBeLessThan(0)
      expect((await found(other))?.remainingMs).toBeGreaterThan(0)
      expect(await claim(mine, 'node 1', AT - 1)).toBe(true)
    })

    test('stay at a node for a pause, also when they are released, and a time that was set back prolongs none', async () => {
      const [ingestId, pause] = [id('in'), { ...TIMES, pauseMs: 60_000 }]
      // The first pass need not wait.
      await claim(ingestId, 'node 0', AT - 1, pause)
      expect(await claim(ingestId, 'node 1', AT, pause)).toBe(true)
      expect(await claim(ingestId, 'node 2', AT + 1, pause)).toBe(false)
      await stores.store.transaction((tx) => tx.ingestClaims.release('node 1'))
      expect(await claim(ingestId, 'node 2', AT + 1, pause)).toBe(false)
      expect(await claim(ingestId, 'node 1', AT + 2, pause)).toBe(true)
      const { heldMs = -1 } = (await found(ingestId)) ?? {}
      expect(heldMs).toBeGreaterThanOrEqual(0)
      expect(heldMs).toBeLessThan(60_000)
      expect(await claim(ingestId, 'node 2', AT + 3, { ...pause, pauseMs: 0 })).toBe(true)
      // The claim seems to last longer than a claim does.
      expect(await claim(ingestId, 'node 3', AT, { claimMs: 1, pauseMs: 0 })).toBe(true)
    })

    test('of which two nodes want one at once, one node gets', async () => {
      const ingestId = id('in')
      const at = [stores.store, stores.other]
      await claim(ingestId, 'node of another', AT - 1)
      const got = await Promise.all(
        [...at, ...at].map((store, n) => claim(ingestId, `node ${n}`, AT + n, { ...TIMES, pauseMs: 60_000 }, store)),
      )
      expect(got.filter(Boolean)).toHaveLength(1)
      expect((await found(ingestId))?.node).toBe(`node ${got.indexOf(true)}`)
    })

    test('are deleted long after their end', async () => {
      const [ended, open] = [id('in'), id('in')]
      await claim(ended, 'node 1', AT, { ...TIMES, claimMs: -1000 })
      await claim(open, 'node 1', AT)
      const nowMs = await stores.store.time()
      await stores.store.transaction((tx) => tx.ingestClaims.prune(nowMs - 60_000))
      expect(await found(ended)).toBeDefined()
      await stores.store.transaction((tx) => tx.ingestClaims.prune(nowMs + 1000))
      expect([await found(ended), (await found(open))?.node]).toEqual([undefined, 'node 1'])
    })
  })
}

function schedulers(stores: Stores): void {
  describe('schedulers', () => {
    test('are stored, found when they are due, and deleted with their skipped occurrences', async () => {
      const accountId = account()
      const occurrence = { startMs: AT, endMs: null }
      const one = newScheduler({
        accountId,
        status: 'active',
        occurrence,
        channels: [{ channelId: 'ch_1', engineIds: ['en_1'] }],
      })
      const later = newScheduler({ accountId, nextAtMs: null })
      const skip = { schedulerId: one.id, startMs: AT, endMs: AT + 5, atMs: AT + 9, reason: 'missed' }
      await stores.store.transaction(async (tx) => {
        await tx.schedulers.insert(one)
        await tx.schedulers.insert(later)
        await tx.schedulers.skip([skip])
        await tx.schedulers.skip([skip, { ...skip, startMs: AT + 1, endMs: null }])
      })
      expect(await stores.other.read.schedulers.get(accountId, one.id)).toEqual(one)
      expect(await stores.other.read.schedulers.get('nobody', one.id)).toBeUndefined()
      const due = (ms: number) => stores.other.read.schedulers.due(ms, 1000)
      expect(await due(AT + 1000)).toContainEqual({ accountId, id: one.id })
      expect((await due(AT + 999)).filter((found) => found.accountId === accountId)).toEqual([])
      expect((await stores.other.read.schedulers.skips(one.id, 10)).map(({ startMs }) => startMs)).toEqual([AT + 1, AT])
      await stores.store.transaction((tx) => tx.schedulers.pruneSkips(AT, 100))
      expect(await stores.other.read.schedulers.skips(one.id, 10)).toHaveLength(2)
      await stores.store.transaction(async (tx) => {
        await tx.schedulers.skip([{ ...skip, schedulerId: later.id, startMs: AT + 2 }])
        await tx.schedulers.unskip(one.id, AT)
        expect(await tx.schedulers.count(accountId)).toBe(2)
        const locked = await tx.schedulers.lock(accountId, one.id)
        const changed = { name: 'Other', status: 'idle', occurrence: null, timeZone: 'Europe/Vienna' } as const
        await tx.schedulers.replace({ ...(locked ?? one), ...changed })
      })
      expect((await stores.other.read.schedulers.skips(one.id, 10)).map(({ startMs }) => startMs)).toEqual([AT])
      expect(await stores.other.read.schedulers.skips(later.id, 10)).toHaveLength(1)
      expect(await stores.other.read.schedulers.get(accountId, one.id)).toMatchObject({
        name: 'Other',
        occurrence: null,
        timeZone: 'Europe/Vienna',
      })
      await stores.store.transaction((tx) => tx.schedulers.delete(one.id))
      expect(await stores.other.read.schedulers.skips(one.id, 10)).toEqual([])
    })

    test('keep engines that they name, or whose channel they name, while they are active', async () => {
      const accountId = newAccount()
      const ending = newScheduler({ accountId, status: 'active' })
      const other = (channels: Scheduler['channels'], over: Partial<Scheduler> = {}) =>
        newScheduler({ accountId, status: 'active', channels, ...over })
      const all = [
        ending,
        other([{ channelId: 'ch_2', engineIds: ['en_20', 'en_22'] }, { channelId: 'ch_3' }]),
        other([{ channelId: 'ch_4' }], { status: 'idle' }),
        other([{ channelId: 'ch_5' }], { accountId: newAccount() }),
      ]
      const wanted = await stores.store.transaction(async (tx) => {
        for (const one of all) await tx.schedulers.insert(one)
        const engines = ['ch_1/en_1', 'ch_2/en_2', 'ch_2/en_22', 'ch_3/en_3', 'ch_4/en_4', 'ch_5/en_5']
        const found: string[] = []
        for (const name of engines) {
          const [channelId = '', id = ''] = name.split('/')
          if (await tx.schedulers.isWantedByOther(ending, { id, channelId })) found.push(name)
        }
        return found
      })
      expect(wanted).toEqual(['ch_2/en_22', 'ch_3/en_3'])
    })

    test('are due in the order of their times, an end after a beginning, and found when they saw a later time', async () => {
      const [active, idle, early] = [
        newScheduler({ status: 'active', nextAtMs: 20 }),
        newScheduler({ nextAtMs: 20, seenUntilMs: 1e15 }),
        newScheduler({ status: 'active', nextAtMs: 10, seenUntilMs: 2e15 }),
      ]
      const over = newScheduler({ status: 'terminated', nextAtMs: null, seenUntilMs: 2e15 })
      await stores.store.transaction(async (tx) => {
        for (const one of [active, idle, early, over]) await tx.schedulers.insert(one)
      })
      const own = new Set([active, idle, early, over].map((one) => one.id))
      const ids = (all: { id: string }[]) => all.flatMap((one) => (own.has(one.id) ? [one.id] : []))
      expect(ids(await stores.other.read.schedulers.due(20, 1000))).toEqual([early.id, idle.id, active.id])
      expect(ids(await stores.other.read.schedulers.seenBeyond(1e15, 1000))).toEqual([early.id])
      await stores.store.transaction(async (tx) => {
        for (const one of own) await tx.schedulers.delete(one)
      })
    })

    test('are paged in every order, each exactly once', async () => {
      const accountId = account()
      const made = ['b', 'a', 'a', 'c'].map((name, n) =>
        newScheduler({
          accountId,
          name,
          createdAtMs: AT + n,
          startTime: `1${n}:00`,
          status: n === 3 ? 'active' : 'idle',
        }),
      )
      await stores.store.transaction(async (tx) => {
        for (const one of made) await tx.schedulers.insert(one)
      })
      for (const sortBy of ['createdAt', 'name', 'status', 'startDate', 'startTime'] as const) {
        for (const descending of [true, false]) {
          const seen: string[] = []
          let after: { key: string | number; id: string } | undefined
          for (let pages = 0; pages < 4; pages += 1) {
            const query = { accountId, sortBy, descending, limit: 1, ...(after ? { after } : {}) }
            const [one] = await stores.other.read.schedulers.page(query)
            if (!one) break
            seen.push(one.id)
            after = { key: sortBy === 'createdAt' ? one.createdAtMs : one[sortBy], id: one.id }
          }
          expect(seen.toSorted()).toEqual(made.map(({ id }) => id).toSorted())
        }
      }
      const query = { accountId, sortBy: 'name', descending: false, limit: 9, statuses: ['active'] } as const
      expect((await stores.other.read.schedulers.page(query)).map(({ name }) => name)).toEqual(['c'])
    })
  })
}
