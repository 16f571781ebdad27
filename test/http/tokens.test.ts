import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp()
})
afterAll(() => sluice.close())

const create = (kind: string, body: object) => sluice.call('POST', `/api/${kind}_token`, body)
const minimal = { label: 'a', streams: [{ streamName: 'show' }] }

describe.each(['publish', 'subscribe'] as const)('%s tokens', (kind) => {
  it('are created with the envelope, a 64 character value and canonical fields', async () => {
    const { status, json } = await create(kind, {
      ...minimal,
      expires: 60,
      allowedOrigins: ['*.Example.com'],
      allowedIpAddresses: ['10.1.2.3/8'],
      bindIpsOnUsage: 2,
      allowedCountries: ['nl'],
    })
    expect(status).toBe(200)
    expect(json.status).toBe('success')
    expect(json.data.token).toMatch(/^[0-9a-f]{64}$/)
    expect(json.data).toMatchObject({
      label: 'a',
      isActive: true,
      streams: [{ streamName: 'show', isRegex: false }],
      allowedOrigins: ['*.example.com'],
      allowedIpAddresses: ['10.0.0.0/8'],
      bindIpsOnUsage: 2,
      allowedCountries: ['NL'],
      deniedCountries: [],
    })
    expect(Date.parse(json.data.expiresOn) - Date.parse(json.data.addedOn)).toBe(60_000)
    expect(json.data.addedOn).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('can be read as they were created, also with a trailing slash and by HEAD', async () => {
    const created = (await create(kind, minimal)).json.data
    const read = await sluice.call('GET', `/api/${kind}_token/${created.id}`)
    expect(read.json).toEqual({ status: 'success', data: created })
    expect((await sluice.call('GET', `/api/${kind}_token/${created.id}/`)).json.data).toEqual(created)
    expect((await sluice.call('HEAD', `/api/${kind}_token/${created.id}`)).status).toBe(200)
    expect((await sluice.call('POST', `/api/${kind}_token/`, minimal)).status).toBe(200)
  })

  it.each(['/api', '/api/v2'])('are edited on the %s path with both spellings of a field', async (prefix) => {
    const { id } = (await create(kind, { ...minimal, allowedIpAddresses: ['10.0.0.1'], bindIpsOnUsage: 3 })).json.data
    const path = `${prefix}/${kind}_token/${id}`
    const long = await sluice.call('PUT', path, { updateAllowedOrigins: ['a.example'], label: 'b' })
    expect(long.json.data).toMatchObject({
      allowedOrigins: ['a.example'],
      label: 'b',
      allowedIpAddresses: ['10.0.0.1'],
    })
    const short = await sluice.call('PUT', path, { allowedOrigins: ['b.example'] })
    expect(short.json.data.allowedOrigins).toEqual(['b.example'])
    const cleared = await sluice.call('PUT', path, { bindIpsOnUsage: 0, updateAllowedIpAddresses: [] })
    expect(cleared.json.data.allowedIpAddresses).toEqual([])
    expect(cleared.json.data.bindIpsOnUsage).toBeUndefined()
    const both = await sluice.call('PUT', path, { allowedOrigins: ['c.example'], updateAllowedOrigins: ['d.example'] })
    expect(both.status).toBe(400)
    expect((await sluice.call('GET', `/api/${kind}_token/${id}`)).json.data.allowedOrigins).toEqual(['b.example'])
  })

  it('get a new value with refreshToken, and the old one is refused at once', async () => {
    const before = (await create(kind, minimal)).json.data
    const after = (await sluice.call('PUT', `/api/${kind}_token/${before.id}`, { refreshToken: true })).json.data
    expect(after.token).not.toBe(before.token)
    expect((await check(kind, before.token)).code).toBe('invalid_token')
    expect((await check(kind, after.token)).code).toBe('allowed')
  })

  it('do not return under an old value once the new one was used', async () => {
    const before = (await create(kind, minimal)).json.data
    expect((await check(kind, before.token)).code).toBe('allowed')
    const after = (await sluice.call('PUT', `/api/${kind}_token/${before.id}`, { refreshToken: true })).json.data
    expect((await check(kind, after.token)).code).toBe('allowed')
    expect((await check(kind, before.token)).code).toBe('invalid_token')
  })

  it('admit no request after the answer to their deletion', async () => {
    const { id, token } = (await create(kind, minimal)).json.data
    expect((await check(kind, token)).allowed).toBe(true)
    const deleted = await sluice.call('DELETE', `/api/${kind}_token/${id}`)
    expect(deleted.json).toEqual({ status: 'success', data: true })
    expect((await check(kind, token)).message).toBe('Unauthorized: Invalid token')
    expect((await sluice.call('GET', `/api/${kind}_token/${id}`)).status).toBe(404)
    expect((await sluice.call('DELETE', `/api/${kind}_token/${id}`)).status).toBe(404)
  })

  it('are not found under the other kind or a made-up id', async () => {
    const other = kind === 'publish' ? 'subscribe' : 'publish'
    const { id } = (await create(kind, minimal)).json.data
    const [huge, base] = ['9'.repeat(40), `/api/${kind}_token`]
    for (const path of [`/api/${other}_token/${id}`, `${base}/999999`, `${base}/0`, `${base}/-1`, `${base}/${huge}`]) {
      const answer = await sluice.call('GET', path)
      expect(answer.status).toBe(404)
      expect(answer.json).toMatchObject({ status: 'fail', data: { tokenId: expect.stringContaining('No ') } })
    }
  })

  it.each(['list_by_stream?stream=x', 'x', '1e3', '1.0', '%31x', 'x/bound_ips', 'ab'.repeat(32)])(
    'have nothing at a path whose word is no integer: %s',
    async (word) => {
      const path = `/api/${kind}_token/${word}`
      const { status, json } = await sluice.call('GET', path)
      expect([status, json]).toEqual([
        404,
        { status: 'fail', data: { message: `Nothing is at ${path.split('?')[0]}` } },
      ])
      expect((await sluice.call('PATCH', path, {})).status).toBe(404)
    },
  )

  it('do not list the methods of an id at the path of a list', async () => {
    for (const method of ['DELETE', 'POST']) {
      const answer = await sluice.call(method, `/api/${kind}_token/list`)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })

  it('are listed in pages with a bare array, a total and links', async () => {
    for (const label of ['list c', 'list a', 'list b']) await create(kind, { ...minimal, label })
    const page = (query: string) => sluice.call('GET', `/api/${kind}_token/list_by_name?name=list+&${query}`)
    const first = await page('itemsOnPage=2')
    expect(first.json.data.map((t: { label: string }) => t.label)).toEqual(['list a', 'list b'])
    expect(first.headers.get('x-total-count')).toBe('3')
    expect(first.headers.get('link')).toContain('rel="next"')
    const second = await page('itemsOnPage=2&page=2')
    expect(second.json.data.map((t: { label: string }) => t.label)).toEqual(['list c'])
    expect(second.headers.get('link')).not.toContain('rel="next"')
    expect((await page('page=9')).json.data).toEqual([])
    const newest = await sluice.call('GET', `/api/${kind}_token/list?sortBy=AddedOn&isDescending=true&itemsOnPage=1`)
    expect(newest.json.data[0].label).toBe('list b')
  })

  it.each(['Page=2&ItemsOnPage=1', 'itemsOnPage=1&page=2&PAGE=2', 'itemsOnPage=1&page=2&_=a?b'])(
    'are all on the pages that the links of %s lead to',
    async (query) => {
      for (const label of ['linked? a', 'linked? b', 'linked? c']) await create(kind, { ...minimal, label })
      const linked = (headers: Headers, rel: string) =>
        new RegExp(`<([^>]*)>; rel="${rel}"`).exec(headers.get('link') ?? '')?.[1]
      const { headers } = await sluice.call('GET', `/api/${kind}_token/list_by_name?name=linked?&${query}`)
      const labels: string[] = []
      for (let path = linked(headers, 'first'); path !== undefined; ) {
        const page = await sluice.call('GET', path)
        labels.push(...page.json.data.map(({ label }: { label: string }) => label))
        path = linked(page.headers, 'next')
      }
      expect(labels.slice(0, 3).map((label) => label.slice(0, 7))).toEqual(['linked?', 'linked?', 'linked?'])
      expect(labels).toHaveLength(Number(headers.get('x-total-count')))
    },
  )

  it('are in answers that no cache stores', async () => {
    const { headers } = await sluice.call('GET', `/api/${kind}_token/list`)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it.each(['page=0', 'itemsOnPage=101', 'itemsOnPage=0', 'page=1.5', 'sortBy=Id', 'isDescending=1', 'page=1&page=2'])(
    'refuse the list query %s by name',
    async (query) => {
      const answer = await sluice.call('GET', `/api/${kind}_token/list?${query}`)
      expect(answer.status).toBe(400)
      expect(Object.keys(answer.json.data.errors)).toEqual([query.split('=')[0]])
    },
  )
})

async function check(kind: string, token: string) {
  const view = kind === 'subscribe'
  const question = {
    action: view ? 'view' : 'publish',
    protocol: view ? 'whep' : 'whip',
    streamName: 'show',
    ip: '192.0.2.1',
  }
  return (await sluice.call('POST', '/api/access/check', { ...question, token })).json.data
}

describe('publish tokens only', () => {
  it('are listed as usable while they may be used, and as active only while they publish', async () => {
    const exact = (await create('publish', { label: 'x', streams: [{ streamName: 'active-1' }] })).json.data.id
    const pattern = (await create('publish', { label: 'x', streams: [{ streamName: 'active-.*', isRegex: true }] }))
      .json.data.id
    const get = (path: string) => sluice.call('GET', `/api/publish_token/${path}`)
    const idsOf = async (path: string) =>
      (await get(`${path}?streamId=${sluice.accountId}/active-1`)).json.data.tokenIds
    expect([await idsOf('usable'), await idsOf('active')]).toEqual([[exact, pattern], []])
    const disabled = await sluice.call('PATCH', '/api/publish_token/disable', { tokenIds: [exact, 123456] })
    expect(disabled.json.data).toEqual({
      successfulTokens: [exact],
      failedTokens: [{ tokenId: 123456, errorMessage: 'No publish token with id: 123456' }],
    })
    expect(await idsOf('usable')).toEqual([pattern])
    expect((await get('active/all')).json.data.tokenIds).toEqual([])
    for (const path of ['active', 'usable']) {
      expect((await get(path)).status).toBe(400)
      expect((await get(`${path}?streamId=zzzzzz/show`)).status).toBe(404)
      expect((await get(`${path}?streamId=${sluice.accountId}/`)).json.data.errors).toHaveProperty('streamId')
    }
  })

  it('answer with a warning if they have country rules and there is no database', async () => {
    const answer = await create('publish', { ...minimal, deniedCountries: ['NL'] })
    expect(answer.headers.get('x-service-warning')).toContain('geoip.database')
    expect((await create('publish', minimal)).headers.get('x-service-warning')).toBeNull()
  })
})

describe('bad input', () => {
  it('that is too large is read first, so that a client that sends all of it gets the answer and no reset', async () => {
    const body = Buffer.alloc(4_000_000, 'a')
    const head = [
      'POST /api/publish_token HTTP/1.1',
      'Host: sluice',
      `Authorization: Bearer ${sluice.secret}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ]
    const socket = connect(Number(new URL(sluice.base).port), '127.0.0.1')
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(body)
    socket.end()
    await once(socket, 'finish')
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 /)
  })

  const count = async () => (await sluice.call('GET', '/api/publish_token/list')).headers.get('x-total-count')
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

  it.each<[string, number, unknown]>([
    ['malformed JSON', 400, '{"label":'],
    ['a body that is not an object', 400, '[]'],
    ['deep nesting', 400, deep],
    ['a prototype key', 400, '{"label":"a","__proto__":{"isActive":false}}'],
    ['invalid UTF-8', 400, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['10 MB', 413, `{"label":"${'a'.repeat(10_000_000)}"}`],
    ['wrong types', 400, { label: 5, streams: 'show' }],
    ['an unknown field', 400, { ...minimal, allowedOrigin: ['a.example'] }],
    ['a bad regex', 400, { label: 'a', streams: [{ streamName: '(', isRegex: true }] }],
    ['a bad CIDR', 400, { ...minimal, allowedIpAddresses: ['10.0.0.0/33'] }],
    ['IPv6 in the IPv4 list', 400, { ...minimal, allowedIpAddresses: ['2001:db8::1'] }],
    ['control characters', 400, { ...minimal, label: 'a\u0000b' }],
    ['duplicate names', 400, { label: 'a', streams: [{ streamName: 'x' }, { streamName: 'x' }] }],
    ['expires out of range', 400, { ...minimal, expires: 2_147_483_648 }],
    ['both country lists', 400, { ...minimal, allowedCountries: ['NL'], deniedCountries: ['BE'] }],
    ['a missing feature', 400, { ...minimal, clip: true }],
    [
      'too many streams',
      400,
      { label: 'a', streams: Array.from({ length: 20_000 }, (_, i) => ({ streamName: `s${i}` })) },
    ],
  ])('%s is refused with %i and nothing is written', async (_name, status, body) => {
    const before = await count()
    const answer = await sluice.call('POST', '/api/publish_token', body)
    expect(answer.status).toBe(status)
    expect(answer.json.status).toBe('fail')
    expect(await count()).toBe(before)
  })

  it('reports all errors of all fields at once', async () => {
    const answer = await create('publish', {
      label: '',
      streams: [{ streamName: '(', isRegex: true }, { streamName: 7 }],
      allowedIpAddresses: ['1.2.3.4-9'],
      typo: 1,
    })
    expect(answer.json.data.message).toBe('Validation errors')
    expect(Object.keys(answer.json.data.errors).sort()).toEqual([
      'allowedIpAddresses[0]',
      'label',
      'streams[0].streamName',
      'streams[1].streamName',
      'typo',
    ])
  })

  it('answers a wrong method with 405 and Allow, a wrong content type with 415, an unknown path with 404', async () => {
    const wrong = await sluice.call('PATCH', '/api/publish_token/5', {})
    expect(wrong.status).toBe(405)
    expect(wrong.headers.get('allow')).toBe('DELETE, GET, HEAD, PUT')
    const typed = await sluice.call('POST', '/api/publish_token', 'label=a', { 'content-type': 'text/plain' })
    expect(typed.status).toBe(415)
    expect((await sluice.call('GET', '/api/nothing')).status).toBe(404)
  })

  it('gives every answer its own request id', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await sluice.call('GET', '/api/nope')).headers.get('x-request-id')),
    )
    expect(new Set(ids).size).toBe(3)
  })
})
