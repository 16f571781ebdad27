import { expect, test } from 'vitest'
import type { TranscodeEvent, TranscodeLog, Transcoder } from '../../src/core/channels/runs/transcoder.ts'
import type { Engine } from '../../src/core/channels/types.ts'
import { type EngineRecords, EngineSupervisor } from '../../src/services/engineSupervisor.ts'
import { type StoredEngineState, StoreUnavailable } from '../../src/store/store.ts'
import { unrenewed } from '../support/leases.ts'
import { silentLog } from '../support/log.ts'

const NODE = 'this node'
const OF = { accountId: 'a1b2c3', channelId: 'ch_1' }
const STATE: StoredEngineState = {
  ...OF,
  engineId: 'en_1',
  wanted: true,
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  node: NODE,
  runId: null,
  isExpired: false,
}

type Job = Exclude<Awaited<ReturnType<EngineRecords['jobOf']>>, string>

/** A supervisor of engines that a test holds in memory. */
function supervise(of: Partial<EngineRecords> & Pick<EngineRecords, 'busy'>, with_: Partial<Transcoder> = {}) {
  const records: EngineRecords = {
    apply: async () => [],
    log: async () => undefined,
    jobOf: async ({ id }) => ({ ...OF, engineId: id }) as Job,
    ladderOf: async () => undefined,
    adopt: async () => false,
    handOver: async () => false,
    release: async () => undefined,
    timeOut: async () => false,
    ...of,
  }
  const transcoder: Transcoder = {
    launch: () => undefined,
    kill: async () => undefined,
    isRunning: () => false,
    ...with_,
  }
  const load = { noticeFor: () => [] }
  const parts = { records, transcoder, load, node: NODE, leaseMs: 15_000, takes: () => true, leases: unrenewed }
  return new EngineSupervisor({ ...parts, log: silentLog })
}

test('what a process reports while the store is away is written when it is back, in order', async () => {
  const written: string[] = []
  let status: Engine['status'] = 'deploying'
  let isAway = false
  let report: (event: TranscodeEvent | TranscodeLog) => void = () => undefined
  const write = (what: string): void => {
    if (isAway) throw new StoreUnavailable('the disk is full')
    written.push(what)
  }
  const engine = () => ({ ...OF, id: 'en_1', status }) as Engine
  const supervisor = supervise(
    {
      busy: async () => [{ state: STATE, engine: engine(), publisherAt: null, isOverdue: false }],
      apply: async (_, event) => (write(event.kind), []),
      log: async (_, { message }) => write(message),
    },
    { launch: (_, notify) => void (report = notify), isRunning: () => status !== 'deploying' },
  )
  await supervisor.reconcile()
  status = 'waiting'
  isAway = true
  report({ kind: 'source' })
  await supervisor.reconcile()
  report({ kind: 'log', level: 'info', message: 'The source has video' })
  report({ kind: 'manifest' })
  await supervisor.reconcile()
  expect(written).toEqual(['launched'])
  isAway = false
  report({ kind: 'sourceLost' })
  await supervisor.reconcile()
  expect(written).toEqual(['launched', 'source', 'The source has video', 'manifest', 'sourceLost'])
})

test('many engines are adopted, started and reported together, so that what is written shares commits', async () => {
  const ids = ['en_1', 'en_2', 'en_3']
  let [node, status]: [string | null, Engine['status']] = [null, 'deploying']
  const reports: ((event: TranscodeEvent) => void)[] = []
  const begun: string[] = []
  const meetings = new Map(['adopt', 'launched', 'ready'].map((step) => [step, Promise.withResolvers<void>()]))
  /** Ends when the step has begun for all engines. */
  const together = async (step: string): Promise<void> => {
    begun.push(step)
    const meeting = meetings.get(step)
    if (begun.filter((one) => one === step).length === ids.length) meeting?.resolve()
    await meeting?.promise
  }
  const supervisedOf = (id: string) => {
    const engine = { ...OF, id, status } as Engine
    return { state: { ...STATE, engineId: id, node }, engine, publisherAt: null, isOverdue: false }
  }
  const supervisor = supervise(
    {
      busy: async () => ids.map(supervisedOf),
      async adopt() {
        await together('adopt')
        node = NODE
        return true
      },
      async apply(_, { kind }) {
        await together(kind)
        return []
      },
    },
    {
      launch(_, notify) {
        reports.push(notify)
        status = 'starting'
      },
      isRunning: () => status !== 'deploying',
    },
  )
  await supervisor.reconcile()
  await supervisor.reconcile()
  for (const report of reports) report({ kind: 'ready' })
  await supervisor.reconcile()
  expect(begun).toEqual(['adopt', 'launched', 'ready'].flatMap((step) => ids.map(() => step)))
})

test('at a stop, one engine that could not be closed left those after it open', async () => {
  const ids = Array.from({ length: 70 }, (_, at) => `en_${at}`)
  const released: string[] = []
  const supervisor = supervise({
    busy: async () =>
      ids.map((engineId) => {
        return { state: { ...STATE, engineId }, engine: undefined, publisherAt: null, isOverdue: false }
      }),
    release: async ({ engineId }) => {
      if (engineId === 'en_1') throw new StoreUnavailable('the disk is full')
      released.push(engineId)
    },
  })
  await supervisor.stop()
  expect(released).toEqual(ids.filter((id) => id !== 'en_1'))
})

test('one channel that could not be stopped after its timeout kept the others on the air', async () => {
  const stopped: string[] = []
  const overdue = (channelId: string) => {
    const state = { ...STATE, engineId: `en of ${channelId}`, channelId }
    return { state, engine: undefined, publisherAt: null, isOverdue: true }
  }
  const supervisor = supervise({
    busy: async () => [overdue('ch_1'), overdue('ch_2')],
    timeOut: async (_, channelId) => {
      if (channelId === 'ch_1') throw new Error('it is broken')
      stopped.push(channelId)
      return false
    },
  })
  await supervisor.reconcile()
  expect(stopped).toEqual(['ch_2'])
})
