import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { runSchedulers } from '../../src/commands/channels/schedules/occurrences.ts'
import type { ChannelContext } from '../../src/commands/context.ts'

/** Runs this many due schedulers. A transaction fails while `failing` says so of its number. Returns how many were done. */
async function run(count: number, failing: (transaction: number) => boolean = () => false): Promise<number> {
  let [left, begun] = [count, 0]
  const store = {
    read: {
      schedulers: {
        due: async (_atMs: number, limit: number) =>
          Array.from({ length: Math.min(left, limit) }, (_, at) => ({ accountId: 'abc123', id: `sc_${at}` })),
      },
    },
    async transaction() {
      if (failing(begun++)) throw new Error('broken')
      left -= 1
    },
  }
  const ctx = { store, clock: new ManualClock(0), channelChanged: () => undefined } as unknown as ChannelContext
  await runSchedulers(ctx).catch((error: unknown) => expect(String(error)).toContain('broken'))
  return count - left
}

test('all schedulers that are due at once begin in the same round', async () => {
  expect(await run(120)).toBe(120)
})

test('a scheduler that fails keeps none of those after it from beginning', async () => {
  expect(await run(30, (transaction) => transaction === 0)).toBe(29)
})
