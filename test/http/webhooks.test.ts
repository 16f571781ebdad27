import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp()
})
afterAll(() => sluice.close())

const url = 'https://hooks.example.com/sluice'
const create = (body: object) => sluice.call('POST', '/api/webhooks', body)
const made = async (body: object = {}) => (await create({ url, ...body })).json.data
const OFF = {
  isFeedHooks: false,
  isFeedHealthHooks: false,
  isMediaHooks: false,
  isRecordingHooks: false,
  isThumbnailHooks: false,
  isTranscoderHooks: false,
  isRestreamHooks: false,
  isViewerConnectionHooks: false,
  isClipHooks: false,
}

describe('a webhook', () => {
  it('is created with a secret of 32 bytes and every switch off', async () => {
    const { status, json } = await create({ url })
    expect(status).toBe(200)
    const { id, secret, ...rest } = json.data
    expect(json.status).toBe('success')
    expect(Number.isInteger(id)).toBe(true)
    expect(Buffer.from(secret, 'base64')).toHaveLength(32)
    expect(rest).toEqual({ url, ...OFF })
  })

  it.each(['isMediaHooks', 'isRecordingHooks'])(
    'has one switch for recordings, also when it is set as %s',
    async (flag) => {
      expect(await made({ [flag]: true })).toMatchObject({ isMediaHooks: true, isRecordingHooks: true })
      const { id } = await made({ isMediaHooks: true })
      const off = await sluice.call('PUT', `/api/webhooks/${id}`, { [flag]: false })
      expect(off.json.data).toMatchObject({ isMediaHooks: false, isRecordingHooks: false })
    },
  )

  it('can be read as it was created, also with a trailing slash and by HEAD', async () => {
    const webhook = await made({ isFeedHooks: true, filter: 'prod-.*' })
    expect(webhook).toMatchObject({ isFeedHooks: true, filter: 'prod-.*' })
    for (const path of [`/api/webhooks/${webhook.id}`, `/api/webhooks/${webhook.id}/`]) {
      expect((await sluice.call('GET', path)).json).toEqual({ status: 'success', data: webhook })
    }
    expect((await sluice.call('HEAD', `/api/webhooks/${webhook.id}`)).status).toBe(200)
  })

  it('keeps fields that an update does not name; null removes the filter and nothing else', async () => {
    const before = await made({ isFeedHooks: true, filter: 'a' })
    const path = `/api/webhooks/${before.id}`
    const renamed = await sluice.call('PUT', path, { url: 'https://other.example.com/', isFeedHooks: null })
    expect(renamed.json.data).toEqual({ ...before, url: 'https://other.example.com/' })
    const { filter: _filter, ...unfiltered } = renamed.json.data
    expect((await sluice.call('PUT', path, { filter: null })).json.data).toEqual(unfiltered)
    expect((await sluice.call('PUT', path, {})).status).toBe(400)
  })

  it('gets a new secret with refreshSecret', async () => {
    const { id, secret } = await made()
    const after = (await sluice.call('PUT', `/api/webhooks/${id}`, { refreshSecret: true })).json.data
    expect(Buffer.from(after.secret, 'base64')).toHaveLength(32)
    expect(after.secret).not.toBe(secret)
    expect((await sluice.call('GET', `/api/webhooks/${id}`)).json.data.secret).toBe(after.secret)
  })

  it('cannot be read after it was deleted', async () => {
    const { id } = await made()
    expect((await sluice.call('DELETE', `/api/webhooks/${id}`)).json).toEqual({ status: 'success', data: true })
    for (const [method, path] of [
      ['GET', `/api/webhooks/${id}`],
      ['DELETE', `/api/webhooks/${id}`],
      ['GET', `/api/webhooks/${id}/deliveries`],
      ['POST', `/api/webhooks/${id}/deliveries/x/redeliver`],
    ] as const) {
      const answer = await sluice.call(method, path)
      expect(answer.status, `${method} ${path}`).toBe(404)
      expect(answer.json).toEqual({ status: 'fail', data: { webhookId: `No webhook with id: ${id}` } })
    }
  })

  it.each(['0', '-1', '99999999', '9007199254740993'])('with the id %s does not exist', async (id) => {
    const answer = await sluice.call('PUT', `/api/webhooks/${id}`, { isFeedHooks: true })
    expect(answer.status).toBe(404)
    expect(answer.json.data).toEqual({ webhookId: `No webhook with id: ${id}` })
  })

  it.each(['x', '1.5', 'x/deliveries'])('is not found at a path without an integer: %s', async (word) => {
    const { status, json } = await sluice.call('GET', `/api/webhooks/${word}`)
    expect([status, json.data]).toEqual([404, { message: `Nothing is at /api/webhooks/${word}` }])
  })

  it('requires the API secret', async () => {
    for (const path of ['/api/webhooks/list', '/api/webhooks/1', '/api/webhooks/1/deliveries']) {
      expect((await fetch(sluice.base + path)).status).toBe(401)
    }
  })
})

describe('an invalid body', () => {
  it('is refused with all of its errors, and nothing is written', async () => {
    const before = (await sluice.call('GET', '/api/webhooks/list?itemCount=100')).json.data.length
    const { status, json } = await create({
      url: 'http://hooks.example.com',
      isFeedHooks: 'yes',
      isMediaHooks: true,
      isRecordingHooks: false,
      filter: '(',
      secret: 'mine',
      isFedHooks: true,
    })
    expect(status).toBe(400)
    expect(json.data.message).toBe('Validation errors')
    expect(Object.keys(json.data.errors).sort()).toEqual(
      ['filter', 'isFedHooks', 'isFeedHooks', 'isMediaHooks', 'isRecordingHooks', 'secret', 'url'].sort(),
    )
    expect(json.data.errors.isFedHooks[0]).toContain('isFeedHooks')
    expect((await sluice.call('GET', '/api/webhooks/list?itemCount=100')).json.data).toHaveLength(before)
  })

  it('with a filter that is too much beside those of other webhooks is refused', async () => {
    const filter = (n: number) => `[\\pL\\pN]{1,99}${n}`
    const others = [await made({ filter: filter(1) }), await made({ filter: filter(2) })]
    const why = { filter: [expect.stringContaining('more than 20000 steps together')] }
    expect((await create({ url, filter: filter(3) })).json.data.errors).toEqual(why)
    const { id } = await made()
    const change = (body: object) => sluice.call('PUT', `/api/webhooks/${id}`, body)
    expect((await change({ filter: filter(3) })).json.data.errors).toEqual(why)
    expect((await change({ filter: 'prod-.*' })).status).toBe(200)
    for (const other of others) await sluice.call('DELETE', `/api/webhooks/${other.id}`)
  })

  it('without a url is refused with that field', async () => {
    expect((await create({ isFeedHooks: true })).json.data.errors).toEqual({
      url: [expect.stringContaining('required')],
    })
  })

  it.each([
    'http://hooks.example.com/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.1.2.3/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://100.64.0.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://224.0.0.1/',
    'https://0.0.0.0/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
    'https://metadata.internal/',
    'https://user:pass@hooks.example.com/',
    'ftp://hooks.example.com/',
    'not a url',
  ])('with a url to %s is refused on url, with the reason', async (target) => {
    const { status, json } = await create({ url: target })
    expect(status).toBe(400)
    expect(json.data.errors).toEqual({ url: [expect.stringMatching(/^must /)] })
    const { id } = await made()
    const update = await sluice.call('PUT', `/api/webhooks/${id}`, { url: target })
    expect(update.json.data.errors).toEqual({ url: [expect.stringMatching(/^must /)] })
  })
})

describe('the list', () => {
  let ids: number[]
  const list = (query: string) => sluice.call('GET', `/api/webhooks/list?${query}`)
  const idsOf = async (query: string) => (await list(query)).json.data.map((webhook: { id: number }) => webhook.id)
  beforeAll(async () => {
    ids = []
    for (let i = 0; i < 12; i++) ids.push((await made()).id)
  })

  it('has ten at a time, from startingId on, in order of creation', async () => {
    const [first = 0, , , fourth = 0] = ids
    expect(await idsOf(`startingId=${first}`)).toEqual(ids.slice(0, 10))
    expect(await idsOf(`startingId=${fourth}&itemCount=3`)).toEqual(ids.slice(3, 6))
    expect((await idsOf('')).length).toBe(10)
  })

  it('goes backwards from startingId, inclusive, or from the end', async () => {
    const [, , , fourth = 0] = ids
    expect(await idsOf(`startingId=${fourth}&itemCount=3&isDescending=true`)).toEqual(ids.slice(1, 4).reverse())
    expect(await idsOf('itemCount=2&isDescending=true')).toEqual(ids.slice(-2).reverse())
  })

  it.each(['itemCount=0', 'itemCount=101', 'itemCount=x', 'startingId=x', 'isDescending=yes'])(
    'refuses %s by name',
    async (query) => {
      const answer = await list(query)
      expect(answer.status).toBe(400)
      expect(Object.keys(answer.json.data.errors)).toEqual([query.split('=')[0]])
    },
  )
})

it('every change of a webhook is in the audit record, without any secret', async () => {
  const webhook = await made({ isFeedHooks: true })
  const after = (await sluice.call('PUT', `/api/webhooks/${webhook.id}`, { refreshSecret: true })).json.data
  await sluice.call('DELETE', `/api/webhooks/${webhook.id}`)
  const rows = (await sluice.app.ctx.store.read.audit.recent(sluice.accountId, 3)).reverse()
  expect(rows.map((row) => row.action)).toEqual(['webhook.create', 'webhook.update', 'webhook.delete'])
  expect([rows[1]?.before, rows[1]?.after]).toEqual(['{}', '{"refreshSecret":true}'])
  for (const secret of [webhook.secret, after.secret]) expect(JSON.stringify(rows)).not.toContain(secret)
})
