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
  const records: EngineRecords = {
    busy: async () => [{ state: STATE, engine: engine(), publisherAt: null }],
    apply: async (_, event) => (write(event.kind), []),
    log: async (_, { message }) => write(message),
    jobOf: async () => ({ ...OF, engineId: 'en_1' }) as Exclude<Awaited<ReturnType<EngineRecords['jobOf']>>, string>,
    ladderOf: async () => undefined,
    adopt: async () => false,
    handOver: async () => false,
    release: async () => undefined,
    timeOut: async () => false,
  }
  const transcoder: Transcoder = {
    launch: (_, notify) => void (report = notify),
    kill: async () => undefined,
    isRunning: () => status !== 'deploying',
  }
  const load = { warningFor: () => null }
  const of = { records, transcoder, load, node: NODE, leaseMs: 15_000, takes: () => true, leases: unrenewed }
  const supervisor = new EngineSupervisor({ ...of, log: silentLog })
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
