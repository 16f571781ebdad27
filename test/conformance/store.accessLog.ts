import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccessLogQuery, AccessLogRow } from '../../src/store/store.ts'
import { accessRow, newAccount } from './store.samples.ts'
import type { Stores } from './store.ts'

const anyRow = fc
  .record({
    atMs: fc.integer({ min: 1, max: 6 }),
    streamName: fc.constantFrom('a', 'b'),
    tokenId: fc.constantFrom(null, 1, 2),
    address: fc.constantFrom('192.0.2.1', '2001:db8::1'),
    code: fc.constantFrom(null, 'token_expired' as const, 'invalid_token' as const),
  })
  .map((row) => ({ ...row, allowed: row.code === null }))

const anyFilter = fc.record(
  {
    tokenId: fc.constantFrom(1, 2),
    streamName: fc.constantFrom('a', 'b'),
    address: fc.constant('192.0.2.1'),
    code: fc.constantFrom('token_expired', 'invalid_token'),
    allowed: fc.boolean(),
    fromMs: fc.integer({ min: 1, max: 6 }),
    untilMs: fc.integer({ min: 1, max: 7 }),
  },
  { requiredKeys: [] },
)

type Filter = Omit<AccessLogQuery, 'accountId' | 'limit' | 'after'> & { source?: AccessLogRow['source'] }

function passes(row: AccessLogRow, { fromMs, untilMs, ...equal }: Filter): boolean {
  const isEqual = Object.entries(equal).every(([key, value]) => row[key as keyof AccessLogRow] === value)
  return isEqual && row.atMs >= (fromMs ?? 0) && row.atMs < (untilMs ?? Infinity)
}

const newestFirst = (a: AccessLogRow, b: AccessLogRow) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1)

export function accessLogSuite(stores: Stores): void {
  const append = (rows: AccessLogRow[]) => stores.store.transaction((tx) => tx.accessLog.append(rows))

  describe('the access log', () => {
    test('paging returns each row of the start once, whatever is added between pages', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyRow, { maxLength: 25 }),
          fc.array(anyRow, { minLength: 1, maxLength: 5 }),
          anyFilter as fc.Arbitrary<Filter>,
          fc.integer({ min: 1, max: 6 }),
          async (before, between, filter, limit) => {
            const accountId = newAccount()
            const rows = before.map((row) => accessRow({ ...row, accountId }))
            await append(rows)
            const seen: AccessLogRow[] = []
            for (let after: AccessLogRow | undefined; ; ) {
              const position = after ? { after: { atMs: after.atMs, id: after.id } } : {}
              const page = await stores.other.read.accessLog.page({ accountId, limit, ...filter, ...position })
              seen.push(...page)
              after = page.at(-1)
              if (page.length < limit) break
              await append(between.map((row) => accessRow({ ...row, atMs: row.atMs + 10, accountId })))
            }
            expect(seen).toEqual(rows.filter((row) => passes(row, filter)).toSorted(newestFirst))
          },
        ),
        { numRuns: 40 },
      )
    })

    test('a repeated batch adds nothing', async () => {
      const accountId = newAccount()
      const rows = Array.from({ length: 250 }, (_, n) => accessRow({ accountId, atMs: n }))
      await append(rows)
      await append(rows)
      expect(await stores.store.read.accessLog.page({ accountId, limit: 1_000 })).toHaveLength(250)
    })

    test('a repeated row gets the new count and the new last time, and nothing else', async () => {
      const accountId = newAccount()
      const row = accessRow({ accountId, code: 'token_expired', allowed: false })
      await append([row, accessRow({ accountId })])
      await append([{ ...row, count: 3, lastAtMs: row.atMs + 5, message: 'another' }])
      const page = await stores.store.read.accessLog.page({ accountId, limit: 10, code: 'token_expired' })
      expect(page).toEqual([{ ...row, count: 3, lastAtMs: row.atMs + 5 }])
    })

    test('a row is read by its id, with its trace, whatever time the id has', async () => {
      const accountId = newAccount()
      const trace = [{ check: 'token' as const, outcome: 'fail' as const, detail: 'no \u0000 \ud800 "token" é' }]
      const row = accessRow({ accountId, atMs: 100, trace, allowed: false, code: 'invalid_token' })
      await append([row, accessRow({ accountId, atMs: 100 })])
      const get = (id: string, of = accountId) => stores.other.read.accessLog.get(of, id)
      expect(await get(row.id)).toEqual(row)
      expect(await get(row.id, newAccount())).toBeUndefined()
      expect(await get('unknown')).toBeUndefined()
    })

    test('codes are counted as the model counts them, with repeats', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.tuple(anyRow, fc.integer({ min: 1, max: 9 }), fc.constantFrom('admission' as const, 'check' as const)),
          ),
          fc.integer({ min: 0, max: 7 }),
          fc.integer({ min: 0, max: 7 }),
          fc.constantFrom(undefined, 'admission' as const, 'check' as const),
          async (wanted, fromMs, untilMs, source) => {
            const accountId = newAccount()
            const rows = wanted.map(([row, count, of]) => accessRow({ ...row, accountId, count, source: of }))
            await append([...rows, accessRow({ accountId: newAccount(), atMs: 1 })])
            const query = { accountId, fromMs, untilMs, ...(source ? { source } : {}) }
            const counted = await stores.other.read.accessLog.countCodes(query)
            const model = new Map<string | null, number>()
            for (const row of rows.filter((each) => passes(each, { fromMs, untilMs, ...(source ? { source } : {}) })))
              model.set(row.code, (model.get(row.code) ?? 0) + row.count)
            expect(new Map(counted.map(({ code, count }) => [code, count]))).toEqual(model)
          },
        ),
        { numRuns: 40 },
      )
    })

    test('pruning deletes the oldest rows up to the limit, and returns how many', async () => {
      const accountId = newAccount()
      const at = (n: number) => -1_000 + n
      await append(Array.from({ length: 10 }, (_, n) => accessRow({ accountId, atMs: at(n) })))
      const prune = (limit: number) => stores.store.transaction((tx) => tx.accessLog.prune(at(7), limit))
      expect(await prune(5)).toBe(5)
      expect(await prune(5)).toBe(2)
      expect(await prune(5)).toBe(0)
      const left = await stores.store.read.accessLog.page({ accountId, limit: 100 })
      expect(left.map((row) => row.atMs)).toEqual([at(9), at(8), at(7)])
    })
  })
}
