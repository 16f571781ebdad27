import { afterEach, describe, expect, it, vi } from 'vitest'
import { authorize } from '../../src/commands/access/authorize.ts'
import { listSecrets, refreshSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import type { Tx } from '../../src/store/store.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { newPlace, type Place, type StoreEngine, testedStores } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { type Connection, publish as publishOnAir } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const NODES = 2
const ADDRESSES = 50
const REQUESTS = 200
const LIMIT = 7

let running: RunningApp[] = []
let place: Place | undefined
afterEach(async () => {
  for (const app of running) await app.close()
  await place?.remove()
  running = []
  place = undefined
})

/** One node on SQLite, or two on one PostgreSQL with one sealing key. */
async function start(engine: StoreEngine): Promise<RunningApp[]> {
  if (engine === 'SQLite') return (running = [await runApp()])
  place = await newPlace(engine)
  const flags = { storage: { url: place.url }, secrets: { sealingKey: SEALING_KEY } }
  for (let node = 0; node < NODES; node++) running.push(await runApp({ flags }))
  return running
}

const addressText = (i: number): string => `198.51.100.${i}`

function publish(sluice: RunningApp, token: string, ip: string) {
  const address = parseAddress(ip)
  if (!address) throw new Error(ip)
  return authorize(sluice.app.ctx, {
    action: 'publish',
    protocol: 'whip',
    accountId: null,
    streamName: 'show',
    presented: token,
    address,
    origin: null,
  })
}

async function makeToken(sluice: RunningApp, body: object = {}) {
  const answer = await sluice.call('POST', '/api/publish_token', {
    label: 'bound',
    streams: [{ streamName: 'show' }],
    bindIpsOnUsage: LIMIT,
    ...body,
  })
  return answer.json.data as { id: number; token: string }
}

describe.each(testedStores())('bind-on-usage on %s', (engine) => {
  it('refuses a client whose token changes with each of three decisions', async () => {
    const [first] = (await start(engine)) as [RunningApp]
    const { token } = await makeToken(first)
    const { store } = first.app.ctx
    const bind = vi.fn(() => Promise.resolve('changed' as const))
    const transaction = vi
      .spyOn(store, 'transaction')
      .mockImplementation((work) => work({ bindings: { bind } } as unknown as Tx))
    const { decision } = await publish(first, token, addressText(1))
    transaction.mockRestore()
    expect([decision.allowed, bind.mock.calls.length]).toEqual([false, 3])
  })

  it(`binds exactly ${LIMIT} addresses under ${REQUESTS} concurrent requests from ${ADDRESSES} addresses`, async () => {
    const nodes = await start(engine)
    const [first] = nodes as [RunningApp]
    const { id, token } = await makeToken(first)
    const attempts = Array.from({ length: REQUESTS }, (_, i) => {
      const ip = addressText(i % ADDRESSES)
      return publish(nodes[i % nodes.length] ?? first, token, ip).then(({ decision }) => ({ ip, decision }))
    })
    const settled = await Promise.all(attempts)
    const admitted = new Set(settled.filter((s) => s.decision.allowed).map((s) => s.ip))
    expect(admitted.size).toBe(LIMIT)
    const refused = settled.filter((s) => !s.decision.allowed)
    for (const { ip, decision } of refused) {
      expect(decision).toMatchObject({ code: 'address_not_allowed', message: 'Unauthorized: IP Address not allowed' })
      expect(admitted.has(ip)).toBe(false)
    }
    const shown = await first.call('GET', `/api/publish_token/${id}/bound_ips`)
    expect(new Set(shown.json.data.map((b: { address: string }) => b.address))).toEqual(admitted)
  })

  it('readmits bound addresses on every node, and a new address only after the bindings are cleared', async () => {
    const nodes = await start(engine)
    const [first] = nodes as [RunningApp]
    const { id, token } = await makeToken(first, { bindIpsOnUsage: 1 })
    expect((await publish(first, token, '192.0.2.1')).decision.allowed).toBe(true)
    for (const node of nodes) {
      expect((await publish(node, token, '192.0.2.1')).decision.allowed).toBe(true)
      expect((await publish(node, token, '::ffff:192.0.2.1')).decision.allowed).toBe(true)
      expect((await publish(node, token, '192.0.2.2')).decision.allowed).toBe(false)
    }
    expect((await first.call('DELETE', `/api/publish_token/${id}/bound_ips`)).json.data).toBe(true)
    expect((await publish(first, token, '192.0.2.2')).decision.allowed).toBe(true)
  })

  it('binds none for a dry run, whether the store answers it or memory', async () => {
    const [first] = (await start(engine)) as [RunningApp]
    const { id, token } = await makeToken(first, { bindIpsOnUsage: 1 })
    const question = { action: 'publish', protocol: 'whip', streamName: 'show', token, ip: '192.0.2.1' }
    for (const _ of ['store', 'memory']) {
      const { data } = (await first.call('POST', '/api/access/check', question)).json
      expect(data).toMatchObject({ allowed: true })
    }
    expect((await first.call('GET', `/api/publish_token/${id}/bound_ips`)).json.data).toEqual([])
    expect((await publish(first, token, '192.0.2.2')).decision.allowed).toBe(true)
  })

  it('reads the bound addresses once, however many are bound after that', async () => {
    const nodes = await start(engine)
    const [first] = nodes as [RunningApp]
    const { token } = await makeToken(first, { bindIpsOnUsage: 20 })
    const reads = vi.spyOn(first.app.ctx.store.read.bindings, 'list')
    for (let n = 0; n < 20; n++) expect((await publish(first, token, addressText(n))).decision.allowed).toBe(true)
    expect((await publish(first, token, addressText(20))).decision.allowed).toBe(false)
    for (let n = 0; n < 20; n++) expect((await publish(first, token, addressText(n))).decision.allowed).toBe(true)
    expect(reads).toHaveBeenCalledTimes(1)
  })

  it('binds no address that another check refuses, and none in a dry run', async () => {
    const [sluice] = (await start(engine)) as [RunningApp]
    const { id, token } = await makeToken(sluice, { allowedIpAddresses: ['192.0.2.0/24'] })
    expect((await publish(sluice, token, '198.51.100.1')).decision.allowed).toBe(false)
    const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1', token }
    expect((await sluice.call('POST', '/api/access/check', question)).json.data.allowed).toBe(true)
    expect((await sluice.call('GET', `/api/publish_token/${id}/bound_ips`)).json.data).toEqual([])
  })

  it('binds the addresses of a token in use first, the oldest first, and ends the sessions of further ones', async () => {
    const nodes = await start(engine)
    const { id, token: presented } = await makeToken(nodes[0]!, {
      bindIpsOnUsage: 0,
      streams: [{ streamName: '.*', isRegex: true }],
    })
    const ips = ['192.0.2.3', '198.51.100.1', '192.0.2.1', '192.0.2.3', '192.0.2.2']
    const all: Connection[] = []
    for (const [n, ip] of ips.entries())
      all.push(await publishOnAir(nodes[n % nodes.length]!.app, { presented, ip, streamName: `s${n}` }))
    await nodes[0]!.call('PUT', `/api/publish_token/${id}`, { bindIpsOnUsage: 2, allowedIpAddresses: ['192.0.2.0/24'] })
    await until(() => all[1]?.cuts.length === 1 && all[4]?.cuts.length === 1)
    expect(all.map(({ cuts }) => cuts)).toEqual([[], ['token_edited'], [], [], ['token_edited']])
    const { json } = await nodes[0]!.call('GET', `/api/publish_token/${id}/bound_ips`)
    expect(json.data).toMatchObject([{ address: '192.0.2.3' }, { address: '192.0.2.1' }])
    for (const node of nodes) expect((await publish(node, presented, '192.0.2.9')).decision.allowed).toBe(false)
  })

  it('keeps the earliest addresses when the limit is lowered, and drops all when it is set to 0', async () => {
    const [sluice] = (await start(engine)) as [RunningApp]
    const { id, token } = await makeToken(sluice, { bindIpsOnUsage: 3 })
    for (const i of [1, 2, 3]) await publish(sluice, token, addressText(i))
    const bound = async () =>
      (await sluice.call('GET', `/api/publish_token/${id}/bound_ips`)).json.data.map(
        (b: { address: string }) => b.address,
      )
    expect(await bound()).toEqual([1, 2, 3].map(addressText))
    await sluice.call('PUT', `/api/publish_token/${id}`, { bindIpsOnUsage: 2 })
    expect(await bound()).toEqual([1, 2].map(addressText))
    expect((await publish(sluice, token, addressText(3))).decision.allowed).toBe(false)
    await sluice.call('PUT', `/api/publish_token/${id}`, { bindIpsOnUsage: 0 })
    expect(await bound()).toEqual([])
    expect((await publish(sluice, token, addressText(9))).decision.allowed).toBe(true)
  })
})

describe.each(testedStores('PostgreSQL'))('two nodes on one %s', (engine) => {
  /** Their look of each second finds nothing: only a notification of the database can end the waits of these tests. */
  async function twoNodes(): Promise<[RunningApp, RunningApp]> {
    const nodes = (await start(engine)) as [RunningApp, RunningApp]
    const nothing = {
      changes: false,
      deliveries: false,
      schedulers: false,
      reloads: false,
      drain: false,
      pulls: false,
      engines: false,
    }
    for (const { app } of nodes) vi.spyOn(app.ctx.store, 'due').mockResolvedValue(nothing)
    return nodes
  }

  it('see a change by the other without looking for it: a deleted token admits no more requests', async () => {
    const [one, two] = await twoNodes()
    const { id, token } = await makeToken(one, { bindIpsOnUsage: 0 })
    expect((await publish(two, token, '192.0.2.1')).decision.allowed).toBe(true)
    await one.call('DELETE', `/api/publish_token/${id}`)
    await until(async () => !(await publish(two, token, '192.0.2.1')).decision.allowed)
  })

  it('refuse a refreshed API secret of the other node without looking for it', async () => {
    const [one, two] = await twoNodes()
    expect((await two.call('GET', '/api/publish_token/list')).status).toBe(200)
    const actor = cliActor(one.accountId)
    for (const secret of await listSecrets(one.app.ctx, one.accountId))
      await refreshSecret(one.app.ctx, actor, secret.id)
    await until(async () => (await two.call('GET', '/api/publish_token/list')).status === 401)
  })
})
