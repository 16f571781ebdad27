import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NodeUsage } from '../../src/core/sessions/types.ts'
import { openStore } from '../../src/store/open.ts'
import { beginOf, SLOT_LENGTHS, type SlotLength } from '../../src/core/zonedSlots.ts'
import { newAccount, nodeUsage, quiet } from '../conformance/store.samples.ts'
import { newPlace, type Place, type StoreEngine, testedStores } from '../support/place.ts'
import { connected } from '../support/postgres.ts'
import { bundle } from './bundle.ts'

const HOUR_MS = 3_600_000
/** Two hours before a month ends. */
const BEGIN = Date.UTC(2026, 0, 31, 22)
const NODE = 'node 1'
/** No transaction of a step has as many statements. */
const STATEMENTS_MAX = 40

interface Sum {
  readonly span: SlotLength
  /** False: of its streams. */
  readonly isOfAccount: boolean
  readonly atMs: number
  readonly bytes: number
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
let program = ''
beforeAll(async () => {
  program = await bundle('usage.steps.ts', folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

describe.each(testedStores())(
  'sums of bytes on %s, when a process is killed before each of its statements',
  (engine) => {
    const accountId = newAccount()
    let place: Place
    let all = 0
    beforeAll(async () => {
      place = await newPlace(engine)
      const usage = usageOf(accountId)
      all = usage.reduce((sum, { bytesOut }) => sum + bytesOut, 0)
      const store = await openStore({ url: place.url, log: quiet })
      await store.transaction(async (tx) => {
        await tx.nodes.insert({ id: NODE, hostKey: NODE, pid: 1, url: null }, 1000)
        await tx.usage.put(NODE, usage)
      })
      await store.close()
    })
    afterAll(() => place.remove())

    /** Kills it before its first statement, then before its second one, until it is done. Checks the sums after each. */
    async function killInAll(step: 'fold' | 'forget' | 'prune', expectAll: () => Promise<void>): Promise<void> {
      let kills = 0
      for (let isDone = false; !isDone; kills += 1) {
        const child = spawn(process.execPath, [program, place.url, step, accountId, NODE, String(kills)])
        const [status, signal] = (await once(child, 'close')) as [number | null, string | null]
        isDone = status === 0
        if (!isDone) expect([signal, kills < STATEMENTS_MAX]).toEqual(['SIGKILL', true])
        expectEqual(await sumsOf(engine, place.url))
        await expectAll()
      }
      expect(kills).toBeGreaterThan(8)
    }

    const written = () => totalOf(engine, place.url, `select coalesce(sum(bytes_out), 0) as n from node_usage`)
    const added = async () =>
      (await sumsOf(engine, place.url)).reduce(
        (sum, one) => sum + (one.span === 'month' && one.isOfAccount ? one.bytes : 0),
        0,
      )
    const nothingIsLost = async (): Promise<void> => expect((await written()) + (await added())).toBe(all)

    test('a row of a node is added to all six or to none, and is in one of both places', async () => {
      await killInAll('fold', nothingIsLost)
      expect([await written(), await added()]).toEqual([0, all])
    })

    test('a viewer who is forgotten takes no byte along', async () => {
      await killInAll('forget', nothingIsLost)
      const withId = `select count(*) as n from usage where tracking_id = 'forgotten'`
      expect(await totalOf(engine, place.url, withId)).toBe(0)
    })

    test('old hours are taken from all six or from none, and the last leaves no row', async () => {
      await killInAll('prune', async () => undefined)
      expect(await totalOf(engine, place.url, 'select count(*) as n from usage')).toBe(0)
    })
  },
)

/** Hours of two months, streams and viewers. */
function usageOf(accountId: string): NodeUsage[] {
  return Array.from({ length: 12 }, (_, at) =>
    nodeUsage({
      accountId,
      ord: at,
      hourMs: BEGIN + (at % 4) * HOUR_MS,
      streamName: at % 3 === 0 ? 'a' : 'b',
      trackingId: at % 2 === 0 ? 'forgotten' : null,
      bytesOut: 10 ** 6 + at,
    }),
  )
}

/** Every row by day and month is the sum of its hours, and the rows of the account are those of its streams. */
function expectEqual(sums: readonly Sum[]): void {
  const by = (span: SlotLength, isOfAccount: boolean, length: SlotLength) => {
    const found = new Map<number, number>()
    for (const one of sums) {
      const at = beginOf(length, one.atMs)
      if (one.span === span && one.isOfAccount === isOfAccount) found.set(at, (found.get(at) ?? 0) + one.bytes)
    }
    return found
  }
  for (const length of SLOT_LENGTHS)
    for (const isOfAccount of [false, true]) expect(by(length, isOfAccount, length)).toEqual(by('hour', false, length))
}

const sumsOf = async (engine: StoreEngine, url: string): Promise<Sum[]> => {
  const rows = await rowsOf(
    engine,
    url,
    `select span, case when stream_name = '' then 1 else 0 end as of_account, at_ms, sum(bytes_out) as bytes
      from usage group by 1, 2, 3`,
  )
  return rows.map((row) => ({
    span: row['span'] as SlotLength,
    isOfAccount: row['of_account'] === 1,
    // PostgreSQL answers them as text.
    atMs: Number(row['at_ms']),
    bytes: Number(row['bytes']),
  }))
}

const totalOf = async (engine: StoreEngine, url: string, query: string): Promise<number> =>
  Number((await rowsOf(engine, url, query))[0]?.['n'])

/** A new connection for each read: the first one after a kill has to recover the log. */
async function rowsOf(engine: StoreEngine, url: string, query: string): Promise<Record<string, unknown>[]> {
  if (engine === 'PostgreSQL')
    return connected(url, async (client) => (await client.query<Record<string, unknown>>(query)).rows)
  const db = new DatabaseSync(url)
  const rows = db.prepare(query).all()
  db.close()
  return rows
}
