import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { ReportReader } from '../../src/store/sqlite/reports/reportReader.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-reports-'))
const file = join(dir, 'store.db')
const store = await openSqlite(file)
const reader = new ReportReader(file)

afterEach(() => void vi.useRealTimers())
afterAll(async () => {
  await reader.close()
  await store.close()
  rmSync(dir, { recursive: true })
})

const upTo = (count: number) => ({
  sql: `with recursive n (i) as (select 1 union all select i + 1 from n where i < ?) select i as "at", 'x' || i as "text" from n`,
  parameters: [count],
})

test('while the database reads for a report, others have the event loop', async () => {
  const query = { accountId: 'a', fromMs: 0, untilMs: 1, groupBy: [], limit: 1 } as const
  const reads = {
    accessLog: () => store.read.accessLog.countCodes({ ...query }),
    audience: () => store.read.audience.countries({ ...query, length: 'day', streamNames: [''] }),
    restreamHours: () => store.read.restreamHours.sum({ ...query }),
    served: () => store.read.served.sum({ ...query, groupBy: ['country'], slot: { stepMs: 1, offsetMs: 0 } }),
    usage: () => store.read.usage.sum(query),
    viewerTraces: () => store.read.viewerTraces.count('a', 'address', '192.0.2.1'),
  }
  for (const [name, read] of Object.entries(reads)) {
    const order: string[] = []
    setImmediate(() => order.push('others'))
    await read()
    order.push(name)
    expect(order).toEqual(['others', name])
  }
})

test('an answer of many rows comes in parts, each query with its own', async () => {
  const [long, short] = await Promise.all([reader.execute(upTo(1_001)), reader.execute(upTo(1))])
  expect(long.changed).toBe(1_001)
  expect(long.rows).toEqual(Array.from({ length: 1_001 }, (_, at) => ({ at: at + 1, text: `x${at + 1}` })))
  expect(short).toEqual({ rows: [{ at: 1, text: 'x1' }], changed: 1 })
})

test('a query that fails is refused with the reason, and the next one is read', async () => {
  await expect(reader.execute({ sql: 'select absent', parameters: [] })).rejects.toThrow('no such column: absent')
  expect((await reader.execute(upTo(2))).changed).toBe(2)
})

test('the thread ends when no reports come, and the next one starts another', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await reader.execute(upTo(1))
  expect(vi.getTimerCount()).toBe(1)
  vi.runAllTimers()
  expect((await reader.execute(upTo(2))).changed).toBe(2)
})

test('a report is refused when the database cannot be opened, or the store is closed', async () => {
  const nowhere = new ReportReader(join(dir, 'none.db'))
  await expect(nowhere.execute(upTo(1))).rejects.toThrow(StoreUnavailable)
  const closing = new ReportReader(file)
  const reads = Promise.allSettled([closing.execute(upTo(1_000_000)), closing.execute(upTo(1))])
  // The first one is on its way.
  await new Promise(setImmediate)
  await closing.close()
  const reason = expect.objectContaining({ message: 'the store is closed' }) as unknown
  expect(await reads).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ])
})
