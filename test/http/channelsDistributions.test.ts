import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(() => live.close())

const rsa = (modulusLength: number) =>
  generateKeyPairSync('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })

async function newDistribution(body: object = {}) {
  const channel = await live.made('POST', '/channels', {
    name: 'c',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
  })
  const made = await live.made('POST', `/channels/${channel.id}/distributions`, { name: 'web', ...body })
  return { ...made, engineId: channel.engines[0].id }
}

const OPEN = {
  geoBlocking: { enabled: false, mode: 'deny', countries: [] },
  ipBlocking: { enabled: false, mode: 'deny', cidrs: [] },
  refererBlocking: { enabled: false, allowedDomains: [], allowNativeApps: false },
  rewriteSegmentUrls: false,
  tokenRequired: false,
  keys: [],
}

describe('a distribution', () => {
  it('is open, enabled and without engines by default', async () => {
    const { engineId: _, ...made } = await newDistribution()
    expect(made).toMatchObject({
      enabled: true,
      latencies: { hls: 10 },
      outputs: { hesp: false, hls: true, hlsMpegTs: false },
      endpoints: { engineIds: [] },
      dvr: { enabled: false },
      security: OPEN,
    })
    expect(made).not.toHaveProperty('maxBitrate')
    expect(made).not.toHaveProperty('externalId')
  })

  it('stores its rules in canonical form, and changes only the named ones', async () => {
    const { id, engineId } = await newDistribution({
      externalId: 'mine',
      maxBitrate: 800_000,
      security: {
        geoBlocking: { enabled: true, mode: 'allow', countries: ['nl', 'BE', 'NL'] },
        ipBlocking: { cidrs: ['2001:DB8:0::1/32', '192.0.2.77/24', '198.51.100.7'] },
        refererBlocking: {
          enabled: true,
          allowedDomains: ['WWW.Example.com:8443', 'localhost:3000', 'bücher.example'],
        },
      },
    })
    const path = `/distributions/${id}`
    const security = {
      geoBlocking: { enabled: true, mode: 'allow', countries: ['NL', 'BE'] },
      ipBlocking: { enabled: false, mode: 'deny', cidrs: ['2001:db8::/32', '192.0.2.0/24', '198.51.100.7'] },
      refererBlocking: {
        enabled: true,
        allowedDomains: ['www.example.com:8443', 'localhost:3000', 'xn--bcher-kva.example'],
        allowNativeApps: false,
      },
      rewriteSegmentUrls: false,
      keys: [],
    }
    expect(await live.made('GET', path)).toMatchObject({ externalId: 'mine', maxBitrate: 800_000, security })
    const changed = await live.made('PATCH', path, {
      enabled: false,
      externalId: null,
      maxBitrate: null,
      latencies: { hls: 20 },
      endpoints: { engineIds: [engineId, engineId] },
      security: { ipBlocking: { enabled: true, mode: 'allow' }, geoBlocking: { countries: [] } },
    })
    expect(changed).toMatchObject({
      enabled: false,
      latencies: { hls: 20 },
      endpoints: { engineIds: [engineId] },
      security: {
        ...security,
        ipBlocking: { ...security.ipBlocking, enabled: true, mode: 'allow' },
        geoBlocking: { ...security.geoBlocking, countries: [] },
      },
    })
    expect(changed).not.toHaveProperty('maxBitrate')
    expect(changed).not.toHaveProperty('externalId')
    expect(await live.made('PATCH', path, { latencies: null })).toMatchObject({ latencies: { hls: 10 } })
    expect((await live.v2('DELETE', path)).status).toBe(204)
    expect((await live.v2('GET', path)).status).toBe(404)
  })

  test.each<[string, unknown]>([
    ['hlsLatency', 12],
    ['latencies.hls', { latencies: { hls: 5 } }],
    ['latencies.hesp', { latencies: { hesp: 2 } }],
    ['targetLatency', { targetLatency: 3 }],
    ['outputs.hesp', { outputs: { hesp: true } }],
    ['dvr', { dvr: { enabled: true } }],
    ['webRtc', { webRtc: { priority: 0 } }],
    ['overrides', { overrides: [{ targets: [] }] }],
    ['customEndpoints', { customEndpoints: [{ customEndpointId: 'x' }] }],
    ['maxBitrate', { maxBitrate: 0 }],
    ['security.geoBlocking.mode', { security: { geoBlocking: { mode: 'block' } } }],
    ['security.geoBlocking.countries[1]', { security: { geoBlocking: { countries: ['NL', 'XX'] } } }],
    ['security.ipBlocking.cidrs[0]', { security: { ipBlocking: { cidrs: ['10.0.0.0/33'] } } }],
    ['security.ipBlocking.cidrs[0]', { security: { ipBlocking: { cidrs: ['::ffff:10.0.0.0/104'] } } }],
    [
      'security.refererBlocking.allowedDomains[0]',
      { security: { refererBlocking: { allowedDomains: ['https://a.b/'] } } },
    ],
    ['security.keys', { security: { keys: [] } }],
    ['endpoints.engineIds', { endpoints: { engineIds: ['en_nothing'] } }],
  ])('refuses by name what it cannot enforce: %s', async (path, change) => {
    const { id } = await newDistribution()
    const body = typeof change === 'object' ? (change as object) : { [path]: change }
    const answer = await live.v2('PATCH', `/distributions/${id}`, body)
    expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed', details: [{ path }] } })
  })

  it('accepts fields without effect, as clients send that fill in every field', async () => {
    const { id } = await newDistribution({
      webRtc: null,
      overrides: [],
      ads: null,
      dvr: { enabled: false },
      customEndpoints: [],
    })
    expect((await live.v2('PATCH', `/distributions/${id}`, { outputs: { hesp: false, hls: true } })).status).toBe(200)
  })
})

describe('viewer keys', () => {
  it('are at most two, are never shown, and are deleted one by one or all at once', async () => {
    const secret = 'a shared secret of some length'
    const { id, security } = await newDistribution({ security: { keys: [{ key: secret, name: 'first' }] } })
    expect(security.keys).toEqual([{ id: expect.stringMatching(/^ke_/), name: 'first' }])
    const path = `/distributions/${id}/security/keys`
    const { publicKey } = rsa(2048)
    const second = await live.made('POST', path, { key: publicKey })
    expect(second).toEqual({ id: expect.stringMatching(/^ke_/) })
    const third = await live.v2('POST', path, { key: 'x'.repeat(32) })
    expect(third).toMatchObject({ status: 409, json: { code: 'too_many_keys' } })
    const shown = await live.v2('GET', path)
    expect(shown.json).toEqual({ data: [second, security.keys[0]], pagination: { hasMore: false } })
    expect((await live.v2('GET', `${path}/${second.id}`)).json).toEqual({ data: second })
    expect((await live.v2('DELETE', `${path}/${security.keys[0].id}`)).status).toBe(204)
    expect((await live.v2('DELETE', `${path}/${security.keys[0].id}`)).status).toBe(404)
    expect((await live.made('GET', `/distributions/${id}`)).security.keys).toEqual([second])
    expect((await live.v2('DELETE', path)).status).toBe(204)
    expect(await live.made('GET', path)).toEqual([])
    const { store } = live.running.app.ctx
    const rows = await store.read.audit.recent(live.running.accountId, 100)
    expect(rows.map(({ action }) => action)).toContain('distribution.security.keys.deleted')
    expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it('are refused if they are weak, private, or of an unsupported kind', async () => {
    const { id } = await newDistribution()
    const ec = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const weak = rsa(1024)
    for (const key of [
      'short',
      weak.publicKey,
      weak.privateKey,
      ec.publicKey,
      '-----BEGIN PUBLIC KEY-----\nnonsense',
    ]) {
      const answer = await live.v2('POST', `/distributions/${id}/security/keys`, { key })
      expect(answer).toMatchObject({ status: 400, json: { details: [{ path: 'key' }] } })
      expect(answer.text).not.toContain(key.slice(40, 80) || key)
    }
  })
})
