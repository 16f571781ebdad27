import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000

describe.each(testedStores())('tokens on %s', (name) => {
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(name)
    at = await startTestNode({ url: place.url })
  })
  afterEach(async () => {
    for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  const listed = async (kind: string, query: string) => {
    const { json } = await at.call('GET', `/api/${kind}_token/list?itemsOnPage=100${query}`)
    return (json.data as { id: number }[]).map(({ id }) => id)
  }

  it('are listed by state, and by when they expire', async () => {
    const broadcast = await makeToken(at, 'publish', { streams: [{ streamName: 'show' }] })
    const ready = await makeToken(at, 'publish')
    const soon = await makeToken(at, 'publish', { expires: 3600 })
    const later = await makeToken(at, 'publish', { expires: 30 * 86_400 })
    const off = await makeToken(at, 'publish', { streams: [{ streamName: 'stage' }] })
    await at.call('PATCH', '/api/publish_token/disable', { tokenIds: [off.id] })
    await publish(at, { presented: broadcast.token })
    expect(await listed('publish', '&state=live')).toEqual([broadcast.id])
    expect(await listed('publish', '&state=ready&sortBy=AddedOn')).toEqual([ready.id, soon.id, later.id])
    expect(await listed('publish', '&state=Expiring')).toEqual([soon.id])
    expect(await listed('publish', '&state=off')).toEqual([off.id])
    expect(await listed('publish', '&state=expired')).toEqual([])
    const before = new Date(Date.now() + 10 * DAY_MS).toISOString()
    expect(await listed('publish', `&expiresBefore=${before}`)).toEqual([soon.id])
    expect(await listed('publish', `&expiresBefore=${before}&state=live`)).toEqual([])
    const { json } = await at.call('GET', '/api/publish_token/list_by_name?name=STAGE&state=off')
    expect(json.data.map(({ id }: { id: number }) => id)).toEqual([off.id])
  })

  it('say when they were last used, and are sorted by it', async () => {
    const never = await makeToken(at, 'subscribe')
    const first = await makeToken(at, 'subscribe')
    const last = await makeToken(at, 'subscribe')
    const broadcast = await makeToken(at, 'publish')
    await publish(at, { presented: broadcast.token })
    for (const token of [first, last]) {
      await view(at, { presented: token.token })
      const usedAtMs = Date.now()
      await until(() => Date.now() > usedAtMs)
    }
    await at.ctx.lastUses.flush(at.ctx.store)
    const { json } = await at.call('GET', `/api/subscribe_token/${first.id}`)
    expect(Math.abs(Date.parse(json.data.lastUsedOn) - Date.now())).toBeLessThan(60_000)
    expect((await at.call('GET', `/api/subscribe_token/${never.id}`)).json.data).not.toHaveProperty('lastUsedOn')
    expect((await listed('subscribe', '&sortBy=lastUsedOn&isDescending=true')).slice(0, 2)).toEqual([last.id, first.id])
    expect(await listed('subscribe', '&sortBy=LastUsedOn')).toEqual([never.id, first.id, last.id])
  })

  it('keep their last use, and their version, when they are edited and used', async () => {
    const token = await makeToken(at, 'publish')
    await publish(at, { presented: token.token })
    await at.ctx.lastUses.flush(at.ctx.store)
    const used = (await at.call('GET', `/api/publish_token/${token.id}`)).json.data.lastUsedOn
    const edited = await at.call('PUT', `/api/v2/publish_token/${token.id}`, { label: 'other' })
    expect(edited.json.data).toMatchObject({ label: 'other', lastUsedOn: used })
    expect((await at.ctx.store.read.tokens.get(token.id))?.version).toBe(2)
  })

  it('are listed without their values when asked so', async () => {
    const token = await makeToken(at, 'publish', { streams: [{ streamName: 'stage-2' }] })
    for (const path of ['list?', 'list_by_name?name=stage-2&']) {
      const { json } = await at.call('GET', `/api/publish_token/${path}itemsOnPage=100&includeValue=false`)
      expect(json.data.length).toBeGreaterThan(0)
      expect(JSON.stringify(json)).not.toContain(token.token)
      for (const record of json.data) expect(Object.keys(record)).not.toContain('token')
    }
    const { json } = await at.call('GET', '/api/publish_token/list?itemsOnPage=100')
    expect(json.data.at(-1).token).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    'state=gone',
    'expiresBefore=tomorrow',
    'expiresBefore=2026-02-30T00:00:00Z',
    'includeValue=1',
    'sortBy=Age',
  ])('refuse a list with %s, and say what is allowed', async (query) => {
    const { status, json } = await at.call('GET', `/api/publish_token/list?${query}`)
    expect([status, Object.keys(json.data.errors)]).toEqual([400, [query.split('=')[0]]])
  })

  it.each(['publish', 'subscribe'] as const)('%s tokens are switched off and on, many at once', async (kind) => {
    const [a, b] = [await makeToken(at, kind), await makeToken(at, kind)]
    const other = await makeToken(at, kind === 'publish' ? 'subscribe' : 'publish')
    const body = { tokenIds: [a.id, b.id, other.id, 987_654] }
    const failedTokens = [other.id, 987_654].map((tokenId) => ({
      tokenId,
      errorMessage: `No ${kind} token with id: ${tokenId}`,
    }))
    for (const [word, isActive] of [
      ['disable', false],
      ['enable', true],
    ] as const) {
      const { json } = await at.call('PATCH', `/api/${kind}_token/${word}`, body)
      expect(json.data).toEqual({ successfulTokens: [a.id, b.id], failedTokens })
      expect((await at.call('GET', `/api/${kind}_token/${a.id}`)).json.data.isActive).toBe(isActive)
      const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
      expect(row).toMatchObject({ action: `${kind}_token.${word}`, subject: String(b.id) })
    }
  })

  it('sign a token that narrows them, without its value on record', async () => {
    const broadcast = await makeToken(at, 'publish')
    await publish(at, { presented: broadcast.token })
    const parent = await makeToken(at, 'subscribe', { streams: [{ streamName: 'show' }] })
    const path = `/api/subscribe_token/${parent.id}/sign`
    const limits = { allowedOrigins: ['*.Example.com'], allowedIpAddresses: ['192.0.2.0/24'] }
    const { json } = await at.call('POST', path, { streamName: 'show', expiresInSeconds: 600, jti: 'guest', ...limits })
    expect(json.data).toMatchObject({ tokenId: parent.id, streamName: 'show', jti: 'guest' })
    const presented: string = json.data.token
    const check = async (ip: string, origin: string) => {
      const body = { action: 'view', protocol: 'whep', streamName: 'show', ip, origin, token: presented }
      return (await at.call('POST', '/api/access/check', body)).json.data.code
    }
    expect(await check('192.0.2.9', 'https://www.example.com')).toBe('allowed')
    expect(await check('198.51.100.1', 'https://www.example.com')).toBe('address_not_allowed')
    expect(await check('192.0.2.9', 'https://example.org')).toBe('origin_not_allowed')
    const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
    expect(row).toMatchObject({ action: 'subscribe_token.sign', subject: String(parent.id) })
    expect(row?.after).toContain('"jti":"guest"')
    expect(JSON.stringify(row)).not.toContain(presented.split('.')[2])
    await at.call('POST', `/api/subscribe_token/${parent.id}/revoke`, { jti: 'guest' })
    expect(await check('192.0.2.9', 'https://www.example.com')).toBe('token_revoked')
  })

  it('sign with all that the library can say, of which the audit keeps nothing personal', async () => {
    const parent = await makeToken(at, 'subscribe', { tracking: { trackingId: 'customer-7' } })
    const path = `/api/subscribe_token/${parent.id}/sign`
    const claims = { tracking: { trackingId: 'customer-7' }, maxViewers: 2, endAtExpiry: true, customViewerData: 'Ann' }
    const { json } = await at.call('POST', path, { streamName: 'show', ...claims })
    const payload = JSON.parse(Buffer.from(json.data.token.split('.')[1], 'base64url').toString())
    expect(payload.streaming).toMatchObject(claims)
    const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
    expect(row?.after).toContain('"maxViewers":2')
    expect(row?.after).not.toContain('Ann')
    const refused = async (body: object) => {
      const answer = await at.call('POST', path, { streamName: 'show', ...body })
      return [answer.status, Object.keys(answer.json.data.errors ?? answer.json.data)]
    }
    expect(await refused({ maxViewers: 2 })).toEqual([400, ['maxViewers']])
    expect(await refused({ maxViewers: 0, tracking: { trackingId: 'customer-7' } })).toEqual([400, ['maxViewers']])
    expect(await refused({ tracking: { trackingId: 'customer-8' } })).toEqual([400, ['tracking.trackingId']])
    expect(await refused({ tracking: { trackingId: 'a\0' } })).toEqual([400, ['tracking.trackingId']])
    expect(await refused({ customViewerData: 'a\0' })).toEqual([400, ['customViewerData']])
    // Longer than a token may be.
    expect(await refused({ customViewerData: '\u0001'.repeat(1024) })).toEqual([400, ['message']])
  })

  it('sign with a random name and for a minute by default, and never beyond their own expiry', async () => {
    const parent = await makeToken(at, 'subscribe', { expires: 30 })
    const path = `/api/subscribe_token/${parent.id}/sign`
    const [a, b] = [await at.call('POST', path, { streamName: 'x' }), await at.call('POST', path, { streamName: 'x' })]
    expect(a.json.data.jti).not.toBe(b.json.data.jti)
    const read = (await at.call('GET', `/api/subscribe_token/${parent.id}`)).json.data
    expect(a.json.data.expiresOn).toBe(read.expiresOn)
  })

  it('refuse to sign what would admit nobody', async () => {
    const parent = await makeToken(at, 'subscribe', { streams: [{ streamName: 'show' }] })
    const sign = async (id: number | string, body: object) => {
      const { status, json } = await at.call('POST', `/api/subscribe_token/${id}/sign`, body)
      return [status, Object.keys(json.data.errors ?? json.data)]
    }
    expect(await sign(parent.id, { streamName: 'other' })).toEqual([400, ['streamName']])
    expect(await sign(parent.id, {})).toEqual([400, ['streamName']])
    expect(await sign(parent.id, { streamName: 'show', seconds: 5 })).toEqual([400, ['seconds']])
    expect(await sign(parent.id, { streamName: 'show', allowedIpAddresses: ['::1'] })).toEqual([
      400,
      ['allowedIpAddresses[0]'],
    ])
    await at.call('POST', `/api/subscribe_token/${parent.id}/revoke`, { jti: 'gone' })
    expect(await sign(parent.id, { streamName: 'show', jti: 'gone' })).toEqual([400, ['jti']])
    const issuedBefore = new Date(Date.now() + 30_000).toISOString()
    const early = await makeToken(at, 'subscribe', { streams: [{ streamName: 'show' }] })
    await at.call('POST', `/api/subscribe_token/${early.id}/revoke`, { issuedBefore })
    expect(await sign(early.id, { streamName: 'show' })).toEqual([409, ['message']])
    const broadcast = await makeToken(at, 'publish')
    expect(await sign(broadcast.id, { streamName: 'show' })).toEqual([404, ['tokenId']])
    await at.call('PATCH', '/api/subscribe_token/disable', { tokenIds: [parent.id] })
    expect(await sign(parent.id, { streamName: 'show' })).toEqual([409, ['message']])
  })

  it('sign a token that is good at once after older ones were revoked, also within the second', async () => {
    const parent = await makeToken(at, 'subscribe', { streams: [{ streamName: 'show' }] })
    const path = `/api/subscribe_token/${parent.id}`
    // The end of this second may be milliseconds away, that of the next one is not.
    for (let second = 0; second < 2; second++) {
      await at.call('POST', `${path}/revoke`, { issuedBefore: new Date().toISOString() })
      const { token } = (await at.call('POST', `${path}/sign`, { streamName: 'show' })).json.data
      const body = { action: 'view', protocol: 'whep', streamName: 'show', ip: '192.0.2.1', token }
      expect((await at.call('POST', '/api/access/check', body)).json.data.code).toBe('allowed')
    }
  })

  it('have patterns that can be tried before, on given and on recent names', async () => {
    const test = async (body: object) => (await at.call('POST', '/api/patterns/test', body)).json.data
    const streamNames = ['camera-7', 'camera-x', 'my camera-7', 'camera-7']
    expect(await test({ pattern: 'camera-[0-9]+', streamNames })).toEqual({
      isValid: true,
      matches: ['camera-7'],
      misses: ['camera-x', 'my camera-7'],
      source: 'given',
      isComplete: true,
    })
    expect(await test({ pattern: '(?=a)', streamNames })).toMatchObject({ isValid: false, error: expect.any(String) })
    const broadcast = await makeToken(at, 'publish')
    for (const streamName of ['b/2', 'b/1', 'show']) await publish(at, { presented: broadcast.token, streamName })
    expect(await test({ pattern: 'b/.*' })).toMatchObject({
      matches: ['b/1', 'b/2'],
      misses: ['show'],
      source: 'recent',
    })
    const { status, json } = await at.call('POST', '/api/patterns/test', { pattern: 'a', streamNames: [''] })
    expect([status, Object.keys(json.data.errors)]).toEqual([400, ['streamNames[0]']])
  })
})
