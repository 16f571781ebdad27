import { describe, expect, it } from 'vitest'
import { RENEWAL_PAUSE_MAX_MS } from '../../src/core/certificates/renewal.ts'
import { coded, say } from '../../src/core/notices.ts'
import type { Stores } from './store.ts'

const NOW = 1_750_000_000_000
const AWAY = say(coded('certificate_not_issued'), coded('authority_undecided', { host: 'ca.example' }))

/** Values and renewals of ACME, which all nodes share. */
export function acmeSuite(stores: Stores): void {
  describe('ACME', () => {
    const claim = (id: string, leaseMs: number, nowMs = NOW, { store } = stores) =>
      store.transaction((tx) => tx.acme.claim(id, leaseMs, nowMs))

    it('a value is the same on all nodes, and can be replaced', async () => {
      const { store, other } = stores
      expect(await other.read.acme.value('account:1')).toBeUndefined()
      for (const byte of [1, 2]) {
        await store.transaction((tx) => tx.acme.put('account:1', Buffer.of(byte), NOW))
        expect(Buffer.from((await other.read.acme.value('account:1')) ?? [])).toEqual(Buffer.of(byte))
      }
    })

    it('old values of one kind can be deleted', async () => {
      const { store } = stores
      await store.transaction(async (tx) => {
        for (const id of ['challenge:old', 'certificate:old']) await tx.acme.put(id, Buffer.of(1), NOW - 10)
        await tx.acme.put('challenge:new', Buffer.of(1), NOW)
        await tx.acme.prune('challenge:', NOW - 5)
      })
      const there = async (id: string) => (await store.read.acme.value(id)) !== undefined
      expect(await there('challenge:old')).toBe(false)
      expect(await there('challenge:new')).toBe(true)
      expect(await there('certificate:old')).toBe(true)
    })

    it('one of many nodes leases a renewal', async () => {
      const asked = Array.from({ length: 8 }, (_, at) =>
        claim('certificate:one', 60_000, NOW, at % 2 === 0 ? stores : { ...stores, store: stores.other }),
      )
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1)
      const begun = { failures: 0, problem: null, dueAtMs: 0 }
      expect(await stores.store.read.acme.renewal('certificate:one')).toEqual(begun)
    })

    it('a lease that is over can be taken', async () => {
      expect(await claim('certificate:over', -1)).toBe(true)
      expect(await claim('certificate:over', 60_000)).toBe(true)
      expect(await claim('certificate:over', 60_000)).toBe(false)
    })

    it('a lease that ends later than any can be taken: the clock was put back, and its holder is gone', async () => {
      expect(await claim('certificate:ahead', 3_600_000)).toBe(true)
      expect(await claim('certificate:ahead', 60_000)).toBe(true)
      expect(await claim('certificate:ahead', 60_000)).toBe(false)
    })

    it('a pause that ends later than any keeps no node from trying: the clock was put back', async () => {
      const { store } = stores
      const id = 'certificate:far'
      await claim(id, 60_000)
      await store.transaction((tx) => tx.acme.settle(id, NOW + RENEWAL_PAUSE_MAX_MS + 1))
      expect(await claim(id, 60_000, NOW + 1)).toBe(false)
      expect(await claim(id, 60_000, NOW)).toBe(true)
    })

    it('a failure is known to all nodes, and keeps them from trying before its pause is over', async () => {
      const { store, other } = stores
      const id = 'certificate:failed'
      await claim(id, 60_000)
      await store.transaction((tx) => tx.acme.fail(id, { failures: 2, dueAtMs: NOW + 1000, problem: AWAY }))
      expect(await other.read.acme.renewal(id)).toEqual({ failures: 2, problem: AWAY, dueAtMs: NOW + 1000 })
      expect(await claim(id, 60_000, NOW + 999)).toBe(false)
      expect(await claim(id, 60_000, NOW + 1000)).toBe(true)
      await store.transaction((tx) => tx.acme.settle(id, NOW + 5000))
      expect(await other.read.acme.renewal(id)).toEqual({ failures: 0, problem: null, dueAtMs: NOW + 5000 })
      expect(await claim(id, 60_000, NOW + 4999)).toBe(false)
      expect(await claim(id, 60_000, NOW + 5000)).toBe(true)
    })
  })
}
