import { EventEmitter } from 'node:events'
import type { PoolClient } from 'pg'
import { expect, test, vi } from 'vitest'
import { StopTimeout } from '../../../src/store/stopTimeout.ts'
import { Retry, Unreachable } from '../../../src/store/postgres/errors.ts'
import { Hosts } from '../../../src/store/postgres/hosts.ts'
import { StorePool } from '../../../src/store/postgres/pool.ts'
import { Transactions } from '../../../src/store/postgres/transactions.ts'

/** Answers only as `answers` says. */
function poolWith(answers: (text: string) => Promise<unknown>) {
  const pool = new StorePool(new Hosts('postgres://db.example.com/sluice'), { max: 1 }, new StopTimeout())
  const queries: string[] = []
  const client = Object.assign(new EventEmitter(), {
    query: (asked: string | { readonly text: string }) => {
      const text = typeof asked === 'string' ? asked : asked.text
      queries.push(text)
      return answers(text)
    },
  }) as unknown as PoolClient
  vi.spyOn(pool, 'lend').mockResolvedValue(client)
  const giveBack = vi.spyOn(pool, 'giveBack').mockReturnValue(undefined)
  return { transactions: new Transactions(pool), queries, giveBack }
}

test('a server that gives no answer is not asked to roll back, for which it would be waited for once more', async () => {
  const { transactions, queries, giveBack } = poolWith(() => Promise.reject(new Error('Query read timeout')))
  await expect(transactions.run(async () => undefined)).rejects.toBeInstanceOf(Unreachable)
  expect(queries).toEqual(['begin'])
  expect(giveBack).toHaveBeenCalledWith(expect.anything(), expect.any(Unreachable), true)
})

test.each(['begin', 'insert', 'commit'])(
  'of a server that is lost at the %s it is known whether it may have written',
  async (at) => {
    const { transactions } = poolWith(async (text) => {
      if (text === at) throw new Error('Connection terminated unexpectedly')
      return { rows: [] }
    })
    const lost = transactions.run((executor) => executor.execute({ sql: 'insert', parameters: [] }))
    await expect(lost).rejects.toMatchObject({ name: 'StoreUnavailable', mayHaveWritten: at === 'commit' })
  },
)

test('work that fails by itself is rolled back', async () => {
  const { transactions, queries, giveBack } = poolWith(async () => undefined)
  const failed = new Error('refused')
  await expect(transactions.run(() => Promise.reject(failed))).rejects.toBe(failed)
  expect(queries).toEqual(['begin', 'rollback'])
  expect(giveBack).toHaveBeenCalledWith(expect.anything(), failed, false)
})

test('work that the server gives up because of other transactions is run again three times at the most', async () => {
  const { transactions, queries } = poolWith(async () => undefined)
  const work = vi.fn<() => Promise<string>>().mockRejectedValue(new Retry('deadlock detected'))
  await expect(transactions.run(work)).rejects.toBeInstanceOf(Retry)
  expect(queries).toEqual(Array.from({ length: 4 }, () => ['begin', 'rollback']).flat())
  work.mockReset().mockRejectedValueOnce(new Retry('deadlock detected')).mockResolvedValue('done')
  expect(await transactions.run(work)).toBe('done')
})
