import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningApp, runApp } from '../support/app.ts'
import { makeToken } from '../support/testNode.ts'

let app: RunningApp
let tokenId: number
const SOURCE = 'rtsp://viewer:s3cret-pass@camera.example.com/main?key=k-99'
const NO_URL = 'must begin with rtsp://, rtsps://, rtmp://, rtmps://, srt://, whep:// or wheps://'
const SHOWN = 'rtsp://viewer:••••@camera.example.com/main?••••'

beforeAll(async () => {
  app = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: 0 } } })
  tokenId = (await makeToken(app, 'publish', { streams: [{ streamName: 'door' }] })).id
})
afterAll(() => app.close())

const create = (more: object = {}) =>
  app.call('POST', '/api/pulls', { tokenId, streamName: 'door', url: SOURCE, enabled: false, ...more })
const errorsOf = (answer: { json: { data: { errors: unknown } } }) => answer.json.data.errors

describe('pulls', () => {
  test('are made, listed, read, changed and deleted, and never show their secrets', async () => {
    const made = await create({ label: 'Door' })
    const { id } = made.json.data
    const record = { id, tokenId, streamName: 'door', label: 'Door', url: SHOWN, enabled: false, when: 'always' }
    expect(made.json.data).toMatchObject({ ...record, status: 'off' })
    expect((await app.call('GET', '/api/pulls')).json.data).toEqual([made.json.data])
    const changed = await app.call('PUT', `/api/pulls/${id}`, { url: SHOWN, label: 'Gate' })
    expect(changed.json.data).toMatchObject({ ...record, label: 'Gate' })
    expect((await app.call('GET', `/api/pulls/${id}`)).json.data).toEqual(changed.json.data)
    expect((await app.call('DELETE', `/api/pulls/${id}`)).json.data).toBe(true)
    expect((await app.call('POST', '/api/pulls/door')).json.data).toEqual({ message: 'Nothing is at /api/pulls/door' })
    expect((await app.call('GET', `/api/pulls/${id}`)).json.data).toEqual({ pullId: `No pull with id: ${id}` })
    const audit = JSON.stringify(await app.app.ctx.store.read.audit.page({ accountId: app.accountId, limit: 100 }))
    expect(audit).toContain('pull.update')
    expect(audit).not.toMatch(/s3cret-pass|k-99/)
  })

  test.each([
    [{ tokenId: 999 }, { tokenId: ['No publish token with id: 999'] }],
    [{ streamName: 'yard' }, { streamName: [expect.stringContaining('must be a stream that publish token')] }],
    [{ streamName: '..' }, { streamName: [expect.stringContaining('must not be . or ..')] }],
    [{ url: 'rtmp://a.example.com/app' }, { url: [expect.stringContaining('must name an application and a stream')] }],
    [{ url: 'ftp://a.example.com/x' }, { url: [NO_URL] }],
    [{ url: 'wheps://a.example.com' }, { url: ['must name an endpoint: wheps://host/path'] }],
    [{ url: 'srt://a.example.com' }, { url: ['must have a port: srt://host:9000'] }],
    [
      { url: 'rtsp://10.0.0.1/x' },
      {
        url: ['must lead to a public address; 10.0.0.1 is not one (the setting `media.allowedNetworks` allows others)'],
      },
    ],
    [{ url: SHOWN }, { url: ['is not the one that the record shows: send the whole of it'] }],
    [{ when: 'sometimes' }, { when: [expect.stringContaining('onDemand')] }],
    [{ mode: 'x' }, { mode: [expect.stringContaining('unknown')] }],
  ])('are refused with %j', async (more, errors) => {
    const answer = await create(more)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toEqual(errors)
  })

  test('of another token, or unknown ones, are refused when they are changed', async () => {
    const { id } = (await create()).json.data
    const change = (path: number, body: object) => app.call('PUT', `/api/pulls/${path}`, body)
    expect(errorsOf(await change(id, { tokenId: 999 }))).toEqual({ tokenId: ['No publish token with id: 999'] })
    expect((await change(999, { label: 'x' })).status).toBe(404)
    expect((await app.call('DELETE', '/api/pulls/999')).status).toBe(404)
    expect((await app.call('GET', '/api/pulls/none')).status).toBe(404)
  })

  test('on demand wait for a viewer', async () => {
    const made = await create({ when: 'onDemand', enabled: true, streamName: 'door' })
    expect(made.json.data).toMatchObject({ when: 'onDemand', status: 'idle' })
    const changed = await app.call('PUT', `/api/pulls/${made.json.data.id}`, { when: 'always', enabled: false })
    expect(changed.json.data).toMatchObject({ when: 'always', status: 'off' })
  })

  test('go with their token', async () => {
    const { id } = await makeToken(app, 'publish')
    const made = await create({ tokenId: id })
    await app.call('DELETE', `/api/publish_token/${id}`)
    expect((await app.call('GET', `/api/pulls/${made.json.data.id}`)).status).toBe(404)
  })
})
