import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newRun, newScheduler } from './store.samples.ts'
import type { Stores } from './store.ts'

const id = (prefix: string) => `${prefix}_${randomBytes(11).toString('hex')}`
const AT = 1_750_000_000_000
const account = () => randomBytes(3).toString('hex')

/** Tests the contract of every store for deleted channels and actors. */
export function deletedSuite(stores: Stores): void {
  describe('after a deletion', () => {
    test('runs have the names of the actors that started, stopped and kept them, and are found only in their account', async () => {
      const [scheduled, byHand, over] = [
        newRun({ start: { type: 'scheduler', id: 'sc_1', name: 'Evening' } }),
        newRun(),
        newRun({ start: { type: 'scheduler', id: 'sc_1' }, endedAtMs: AT }),
      ]
      const named = await stores.store.transaction(async (tx) => {
        for (const run of [scheduled, byHand, over]) {
          await tx.runs.insert(run)
        }
        await tx.runs.keep(scheduled.id, 'credential:3')
        await tx.runs.end(
          scheduled.id,
          { type: 'api', id: 'credential:3', name: 'control' },
          { startedAtMs: AT, endedAtMs: AT + 5 },
        )
        return [await tx.runs.get(scheduled.id), await tx.runs.get(byHand.id), await tx.runs.get(over.id)]
      })
      const stop = { type: 'api', id: 'credential:3', name: 'control' } as const
      expect(named).toEqual([{ ...scheduled, keptBy: 'credential:3', stop, endedAtMs: AT + 5 }, byHand, over])
      const { accountId, channelId, engineId } = byHand
      const { runs: reads, served } = stores.other.read
      expect(await reads.exist(accountId, { channelId })).toBe(true)
      expect(await reads.exist(accountId, { engineId })).toBe(true)
      expect(await reads.exist('another', { engineId })).toBe(false)
      expect(await reads.exist('another', { channelId })).toBe(false)
      expect(await reads.exist(accountId, { channelId: id('ch') })).toBe(false)
      const of = { accountId, channelId, distributionId: id('di'), country: '', trackingId: '' }
      await stores.store.transaction((tx) => tx.served.add([{ ...of, slotMs: AT, bytesOut: 1, viewedMs: 0 }]))
      expect(await served.exists(accountId, { channelId })).toBe(true)
      expect(await served.exists(accountId, { distributionId: of.distributionId })).toBe(true)
      expect(await served.exists('another', { distributionId: of.distributionId })).toBe(false)
      expect(await served.exists('another', { channelId })).toBe(false)
      expect(await served.exists(accountId, { channelId: id('ch') })).toBe(false)
    })

    test('schedulers that name a channel are locked, unless they are terminated', async () => {
      const accountId = account()
      const [channelId, other] = [id('ch'), id('ch')]
      const channels = [{ channelId: other }, { channelId, engineIds: ['en_1'] }]
      const made = [
        newScheduler({ accountId, channels }),
        newScheduler({ accountId, channels: [{ channelId }], status: 'active' }),
        newScheduler({ accountId, channels: [{ channelId }], status: 'terminated', nextAtMs: null }),
        newScheduler({ accountId, channels: [{ channelId: other }] }),
        newScheduler({ accountId: account(), channels: [{ channelId }] }),
        // An id that `_` in a pattern would match.
        newScheduler({ accountId, channels: [{ channelId: channelId.replace('_', 'x') }] }),
        newScheduler({ accountId, channels: [{ channelId: channelId.toUpperCase() }] }),
      ]
      const byId = (all: typeof made) => all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      await stores.store.transaction(async (tx) => {
        for (const one of made) await tx.schedulers.insert(one)
        const found = await tx.schedulers.lockNaming(accountId, channelId)
        expect(found).toEqual(byId(made.slice(0, 2)))
        expect(await tx.schedulers.lockNaming(accountId, id('ch'))).toEqual([])
        expect(await tx.schedulers.lockAll(accountId)).toEqual(byId(made.filter((one) => one.accountId === accountId)))
      })
      const page = { accountId, channelId, sortBy: 'name', descending: false, limit: 9 } as const
      expect(await stores.other.read.schedulers.page(page)).toEqual(byId(made.slice(0, 3)))
    })
  })
}
