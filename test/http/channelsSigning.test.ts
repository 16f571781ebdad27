import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

const SECRET = 'a shared secret that viewers never see'

let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(() => live.close())

async function newDistribution(distribution: object): Promise<{ id: string }> {
  const made = await live.made('POST', '/channels', {
    name: 'stage',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'main' }] }],
    distributions: [{ name: 'web', ...distribution }],
  })
  return made.distributions[0]
}

const masterOf = (id: string): string => `/v2/distributions/${id}/hls/main.m3u8`

/** The status and the reason of a refusal. */
async function codeOf(path: string, headers: Record<string, string> = {}): Promise<[number, string]> {
  const { status, json } = await live.running.call('GET', path, undefined, { authorization: '', ...headers })
  return [status, json?.code]
}

describe('a token that Sluice signs', () => {
  it('plays its own channel alone, with every restriction, and the audit log has its claims without the token', async () => {
    const [stage, other] = [
      await newDistribution({ security: { keys: [{ key: SECRET }] } }),
      await newDistribution({ security: { keys: [{ key: SECRET }] } }),
    ]
    const [key] = await live.made('GET', `/distributions/${stage.id}/security/keys`)
    const sign = (body: object) => live.v2('POST', `/distributions/${stage.id}/security/keys/${key.id}/sign`, body)
    const made = await sign({ expiresInSeconds: 7200, trackingId: 'guest-42', devices: ['mobile'] })
    expect(made).toMatchObject({ status: 200, json: { data: { keyId: key.id } } })
    const { token, expiresAt } = made.json.data
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 7_200_000)).toBeLessThan(60_000)
    const phone = { 'user-agent': 'Mozilla/5.0 (iPhone)' }
    // Admitted: the channel does not play yet.
    expect(await codeOf(`${masterOf(stage.id)}?token=${token}`, phone)).toEqual([404, 'not_found'])
    expect(await codeOf(`${masterOf(stage.id)}?token=${token}`)).toEqual([403, 'device_not_allowed'])
    expect(await codeOf(`${masterOf(other.id)}?token=${token}`, phone)).toEqual([403, 'channel_not_allowed'])
    const abroad = (await sign({ countries: ['de'] })).json.data
    expect(await codeOf(`${masterOf(stage.id)}?token=${abroad.token}`)).toEqual([403, 'country_not_allowed'])
    const later = (await sign({ notBefore: '2999-01-01T00:00:00Z' })).json.data
    expect(later.expiresAt).toBe('2999-01-01T01:00:00.000Z')
    expect(await codeOf(`${masterOf(stage.id)}?token=${later.token}`)).toEqual([403, 'invalid_token'])

    const rows = await live.running.app.ctx.store.read.audit.recent(live.running.accountId, 100)
    const signed = rows.find(({ action }) => action === 'distribution.token.sign')
    expect(JSON.stringify(signed)).toContain(key.id)
    expect(JSON.stringify(rows)).not.toContain(token.split('.')[2])
  })

  it('is refused for a public key, for a key that is not there, and with each wrong field', async () => {
    const { publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const stage = await newDistribution({ security: { keys: [{ key: publicKey }] } })
    const keys = `/distributions/${stage.id}/security/keys`
    const [key] = await live.made('GET', keys)
    expect(await live.v2('POST', `${keys}/${key.id}/sign`, {})).toMatchObject({
      status: 409,
      json: { code: 'key_cannot_sign' },
    })
    expect((await live.v2('POST', `${keys}/ke_none/sign`, {})).status).toBe(404)
    const wrong = { expiresInSeconds: 0, trackingId: 'a\nb', countries: ['UK'], devices: ['watch'], notBefore: 'soon' }
    const { status, json } = await live.v2('POST', `${keys}/${key.id}/sign`, wrong)
    expect(status).toBe(400)
    const paths = json.details.map(({ path }: { path: string }) => path.split('[')[0])
    expect(new Set(paths)).toEqual(new Set(Object.keys(wrong)))
    const late = await live.v2('POST', `${keys}/${key.id}/sign`, { notBefore: '9999-12-31' })
    expect(late).toMatchObject({ status: 400, json: { details: [{ path: 'notBefore' }] } })
  })
})
