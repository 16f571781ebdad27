import { beforeEach, describe, expect, test } from 'vitest'
import { coded, say } from '../../src/core/notices.ts'
import { offTarget } from '../../src/core/restream/state.ts'
import { NO_DEFAULTS } from '../../src/core/tokens/accountDefaults.ts'
import type { StoredPull, StoredToken, Tx } from '../../src/store/store.ts'
import type { Stores } from './store.ts'
import { insert, newAccount } from './store.samples.ts'

/** What the store does with pulls. */
export function pullsSuite(stores: Stores): void {
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => stores.store.transaction(work)
  let token: StoredToken

  const add = (over: Partial<StoredPull> = {}): Promise<StoredPull> =>
    write((tx) =>
      tx.pulls.insert({
        accountId: token.accountId,
        tokenId: token.id,
        streamName: 'door',
        label: '',
        urlSealed: Uint8Array.of(1, 2),
        shownUrl: 'rtsp://camera/',
        enabled: true,
        when: 'always',
        version: 1,
        addedAtMs: 5,
        demandAtMs: 0,
        node: null,
        state: offTarget(5),
        ...over,
      }),
    )
  const concerning = async (node = '', sinceMs = 0) => {
    const pulls = await stores.other.read.pulls.concerning(node, sinceMs)
    return pulls.filter(({ accountId }) => accountId === token.accountId)
  }
  const nodeOf = async (pull: StoredPull) => (await stores.other.read.pulls.get(pull.accountId, pull.id))?.node
  const serve = async (id: string) => write((tx) => tx.nodes.insert({ id, hostKey: id, pid: 1, url: null }, 60_000))

  beforeEach(async () => {
    token = await insert(stores.store, { accountId: newAccount() })
  })

  describe('pulls', () => {
    test('are read as they were written, in their order, and by their account only', async () => {
      const first = await add()
      const second = await add({ enabled: false, label: 'Yard' })
      const { accountId } = token
      expect([first.enabled, second.enabled]).toEqual([true, false])
      expect(first).toMatchObject({ state: { status: 'off', sinceMs: 5, retryAtMs: null, problem: null }, node: null })
      expect(await stores.other.read.pulls.list(accountId)).toEqual([first, second])
      expect(await stores.other.read.pulls.get(accountId, second.id)).toEqual(second)
      expect(await stores.other.read.pulls.get(newAccount(), second.id)).toBeUndefined()
      expect(await concerning()).toEqual([{ ...first, region: null }])
    })

    test('have the region of their token, or that of its account', async () => {
      const { accountId } = token
      const own = async (originCluster: string) =>
        add({ tokenId: (await insert(stores.store, { accountId, originCluster })).id })
      const pulls = [await add(), await own('auto'), await own('north')]
      const regions = async () => {
        const enabled = await concerning()
        return pulls.map(({ id }) => enabled.find((one) => one.id === id)?.region)
      }
      expect(await regions()).toEqual([null, null, 'north'])
      await write(async (tx) => {
        await tx.accounts.insert({ id: accountId, name: 'a', createdAtMs: 1 })
        await tx.accounts.setDefaults(accountId, { ...NO_DEFAULTS, defaultCluster: 'south' })
      })
      expect(await regions()).toEqual(['south', null, 'north'])
    })

    test('keep their node and their state when their settings change', async () => {
      const pull = await add()
      const node = `n-${pull.id}`
      await serve(node)
      const state = { status: 'waiting', sinceMs: 7, retryAtMs: 9, problem: say(coded('source_closed')) } as const
      await write(async (tx) => {
        await tx.pulls.claim(pull.id, node)
        await tx.pulls.setState(pull.id, node, state)
        await tx.pulls.setState(pull.id, 'another', { ...state, status: 'live' })
        await tx.pulls.replace({ ...pull, label: 'Gate', version: 2, state: offTarget(0), node: 'x' })
      })
      expect(await stores.other.read.pulls.get(pull.accountId, pull.id)).toEqual({
        ...pull,
        label: 'Gate',
        version: 2,
        node,
        state,
        lastProblem: { ...state.problem, atMs: 7 },
      })
    })

    test('are wanted if they are enabled and on demand, and stay so when their settings change', async () => {
      const [onDemand, off, always] = [
        await add({ when: 'onDemand' }),
        await add({ when: 'onDemand', enabled: false }),
        await add(),
      ]
      await write(async (tx) => {
        for (const { id } of [onDemand, off, always]) await tx.pulls.want(id, 77)
        await tx.pulls.replace({ ...onDemand, label: 'Gate' })
      })
      const read = await stores.other.read.pulls.list(token.accountId)
      expect(read.map(({ demandAtMs }) => demandAtMs)).toEqual([77, 0, 0])
    })

    test('concern the node that they run at, all nodes if that is gone, and if they are wanted', async () => {
      const onDemand = { when: 'onDemand' } as const
      const [own, away, free, idle, wanted] = [
        await add(),
        await add(),
        await add(),
        await add({ ...onDemand, demandAtMs: 50 }),
        await add({ ...onDemand, demandAtMs: 51 }),
      ]
      const [a, b] = [`a-${own.id}`, `b-${own.id}`]
      await serve(a)
      await serve(b)
      await write(async (tx) => {
        await tx.pulls.claim(own.id, a)
        await tx.pulls.claim(away.id, b)
        await tx.pulls.claim((await tx.pulls.insert({ ...idle, enabled: false })).id, a)
      })
      const idsOf = (pulls: readonly { readonly id: number }[]) => pulls.map(({ id }) => id)
      expect(idsOf(await concerning(a, 50))).toEqual(idsOf([own, free, wanted]))
      await write((tx) => tx.nodes.delete(b))
      expect(idsOf(await concerning(a, 50))).toEqual(idsOf([own, away, free, wanted]))
      const listed = (await stores.other.read.pulls.onDemand()).filter(({ accountId }) => accountId === token.accountId)
      expect(listed).toMatchObject([idle, wanted].map(({ id, demandAtMs, state }) => ({ id, demandAtMs, state })))
    })

    test('run at one node, until it is gone or releases them', async () => {
      const [pull, off] = [await add(), await add({ enabled: false })]
      const [a, b] = [`a-${pull.id}`, `b-${pull.id}`]
      await serve(a)
      await serve(b)
      const claim = (node: string) => write((tx) => tx.pulls.claim(pull.id, node))
      await claim(a)
      await claim(b)
      await write((tx) => tx.pulls.claim(off.id, a))
      expect([await nodeOf(pull), await nodeOf(off)]).toEqual([a, null])
      await write((tx) => tx.nodes.delete(a))
      await claim(b)
      expect(await nodeOf(pull)).toBe(b)
      await write((tx) => tx.pulls.release(pull.id, a))
      expect(await nodeOf(pull)).toBe(b)
      await write((tx) => tx.pulls.release(pull.id, b))
      expect(await nodeOf(pull)).toBeNull()
    })

    test('are deleted, and with their token', async () => {
      const [one, two] = [await add(), await add()]
      expect(await write((tx) => tx.pulls.lock(token.accountId, one.id))).toEqual(one)
      await write((tx) => tx.pulls.delete(one.id))
      expect(await stores.other.read.pulls.list(token.accountId)).toEqual([two])
      await write((tx) => tx.tokens.delete(token))
      expect(await stores.other.read.pulls.list(token.accountId)).toEqual([])
    })
  })
}
