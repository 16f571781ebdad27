import { expect, test } from 'vitest'
import { type Download, Downloads } from '../../src/edge/http/usage/downloads.ts'

function downloads() {
  const all = new Downloads()
  const ended: string[] = []
  const begin = (accountId: string, nowMs: number): Download | null => {
    const download: Download = { accountId, waitsSinceMs: null, end: () => ended.push(accountId) }
    return all.add(download, nowMs) ? download : null
  }
  return { all, begin, ended }
}

test('four accounts that read slowly kept the others out; the slowest of them gives way', () => {
  const { begin, ended } = downloads()
  const slow = ['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd'].map((account) => begin(account, 0))
  for (const [at, download] of slow.entries()) download!.waitsSinceMs = 1000 * (8 - at)
  expect(begin('e', 15_999)).toBeNull()
  expect(begin('e', 16_000)).not.toBeNull()
  expect(ended).toEqual(['d'])
  expect([begin('f', 16_999), begin('f', 17_000) === null]).toEqual([null, false])
  expect(ended).toEqual(['d', 'd'])
})

test('an account has two, also if others are slow; clients that read keep theirs, and one that is over makes room', () => {
  const { all, begin, ended } = downloads()
  const first = begin('a', 0)!
  begin('a', 0)
  expect(begin('a', 60_000)).toBeNull()
  all.delete(first)
  for (const account of ['a', 'b', 'b', 'c', 'c', 'd', 'd']) expect(begin(account, 0)).not.toBeNull()
  expect([begin('e', 60_000), ended]).toEqual([null, []])
})
