import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { credential, type ChannelsClient, runChannels, strangerOf, WHOLE_CHANNEL } from '../support/channelsClient.ts'

let live: ChannelsClient
let stranger: string
beforeAll(async () => {
  live = await runChannels()
  stranger = await strangerOf(live)
})
afterAll(() => live.close())

describe('the interface', () => {
  it('requires a Basic credential, reveals nothing to a wrong one, and limits readers to reading', async () => {
    const none = await live.running.call('GET', '/v2/channels')
    expect(none).toMatchObject({ status: 401, json: { code: 'unauthorized' } })
    expect(none.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    for (const wrong of [
      'Basic',
      'Basic !',
      `Basic ${btoa('key')}`,
      `Basic ${btoa('sk1:x')}`,
      `${live.authorization}x`,
      // A key that exists, with the secret of none.
      `Basic ${btoa(atob(live.authorization.slice(6)).replace(/:.*/, ':x'))}`,
    ]) {
      expect((await live.v2('GET', '/channels', undefined, { authorization: wrong })).status).toBe(401)
    }
    const reader = { authorization: await credential(live.running, 'read') }
    expect((await live.v2('GET', '/channels', undefined, reader)).status).toBe(200)
    const refused = await live.v2('POST', '/channels', { name: 'x' }, reader)
    expect(refused).toMatchObject({ status: 403, json: { code: 'insufficient_scope' } })
  })

  it('answers the same for another account’s objects and for objects that never existed', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const paths = [
      ['channels', made.id],
      ['ingests', made.ingests[0].id],
      ['engines', made.engines[0].id],
      ['distributions', made.distributions[0].id],
    ] as const
    const asked = async (method: string, path: string, body?: object) => {
      const theirs = await live.v2(method, path, body, { authorization: stranger })
      const never = await live.v2(method, path.replace(/_\w+/, `_${'1'.repeat(22)}`), body)
      expect(theirs.json).toEqual({ code: 'not_found', message: expect.any(String) })
      expect([theirs.status, never.status]).toEqual([404, 404])
    }
    for (const [kind, id] of paths) {
      await asked('GET', `/${kind}/${id}`)
      await asked('PATCH', `/${kind}/${id}`, { name: 'mine now' })
      await asked('DELETE', `/${kind}/${id}`)
    }
    for (const kind of ['ingests', 'engines', 'distributions']) await asked('GET', `/channels/${made.id}/${kind}`)
    await asked('POST', `/channels/${made.id}/engines`, { name: 'x' })
    await asked('POST', `/ingests/${made.ingests[0].id}/rotate-key`)
    await asked('POST', `/distributions/${made.distributions[0].id}/security/keys`, { key: 'x'.repeat(32) })
    expect(await live.made('GET', `/channels/${made.id}`)).toMatchObject({ name: 'Stage' })
  })

  it('reports the state of a channel and all of its parts in one answer', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    await live.v2('PATCH', `/distributions/${made.distributions[0].id}`, { enabled: false })
    const state = await live.made('GET', `/monitoring/channels/${made.id}`)
    expect(state).toEqual({
      id: made.id,
      name: 'Stage',
      status: 'stopped',
      ingests: made.ingests.map(({ id, type }: { id: string; type: string }) => ({ id, protocol: type.split('-')[0] })),
      engines: made.engines.map(({ id }: { id: string }) => ({ id, status: 'stopped' })),
      distributions: [{ id: made.distributions[0].id, status: 'disabled', viewers: 0 }],
    })
    const theirs = await live.v2('GET', `/monitoring/channels/${made.id}`, undefined, { authorization: stranger })
    expect(theirs.status).toBe(404)
  })

  it('answers nothing that caches may store: answers hold stream keys', async () => {
    for (const answer of [
      await live.v2('GET', '/channels'),
      await live.v2('GET', '/channels', undefined, { authorization: '' }),
    ])
      expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('uses its own envelope for errors of paths, methods, bodies and limits', async () => {
    const codes = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
      const { status, json } = await live.v2(method, path, body, headers)
      return [status, json?.code]
    }
    expect(await codes('GET', '/nothing')).toEqual([404, 'not_found'])
    expect(await codes('PUT', '/channels')).toEqual([405, 'method_not_allowed'])
    expect((await live.v2('PUT', '/channels')).headers.get('allow')).toBe('GET, HEAD, POST')
    expect(await codes('POST', '/channels', '{"name":')).toEqual([400, 'invalid_body'])
    expect(await codes('POST', '/channels', '{"name":"a","__proto__":{}}')).toEqual([400, 'validation_failed'])
    expect(await codes('POST', '/channels', 'name=a', { 'content-type': 'text/plain' })).toEqual([
      415,
      'unsupported_media_type',
    ])
    expect(await codes('POST', '/channels', `{"name":"${'x'.repeat(1_100_000)}"}`)).toEqual([413, 'too_large'])
    expect(await codes('POST', '/channels')).toEqual([400, 'validation_failed'])
    expect(await codes('POST', '/channels', '[]')).toEqual([400, 'validation_failed'])
    expect(await codes('GET', `/channels/${'x'.repeat(4097)}`)).toEqual([414, 'uri_too_long'])
    expect(await codes('GET', '/channels/%00')).toEqual([400, 'invalid_request'])
    expect(await codes('GET', '/channels/%zz')).toEqual([400, 'invalid_request'])
    for (const path of ['/channels/ch_x/drm/configs', '/monitoring/distributions/di_x']) {
      expect(await codes('GET', path)).toEqual([501, 'not_supported'])
    }
    // Whatever the body is: hosted services accept bodies here that are not JSON.
    const binary = { 'content-type': 'application/octet-stream' }
    const metadata = `/channels/ch_x/instream-metadata/9f3f3a4e-7a53-4f4e-9f3c-0a0b0c0d0e0f`
    expect(await codes('POST', metadata, 'x'.repeat(70_000), binary)).toEqual([501, 'not_supported'])
    expect(await live.made('GET', '/channels?status=ready,deleting,deleted')).toEqual([])
    expect(await codes('GET', '/channels?status=gone')).toEqual([400, 'validation_failed'])
    for (const limit of ['0', '101', '-1', '1.5', 'many', '']) {
      expect(await codes('GET', `/channels?limit=${limit}`)).toEqual([400, 'invalid_limit'])
    }
    for (const cursor of ['x', '', 'AAAA', 'x'.repeat(2000)]) {
      expect(await codes('GET', `/channels?cursor=${cursor}`)).toEqual([400, 'invalid_cursor'])
    }
    expect((await live.v2('GET', '/channels/')).status).toBe(200)
    expect((await live.v2('GET', '/regions')).json).toEqual({
      data: [
        {
          id: 'local',
          name: 'local',
          type: 'onprem',
          supportedIngestTypes: ['rtmp-push', 'rtmp-pull', 'srt-push', 'srt-pull', 'rtsp-pull', 'whep-pull'],
        },
      ],
      pagination: { hasMore: false },
    })
    expect(await codes('GET', '/regions/mars')).toEqual([404, 'not_found'])
  })

  it('records who changed what, without secrets', async () => {
    const made = await live.made('POST', '/channels', { ...WHOLE_CHANNEL, externalIds: [] })
    const url = 'srt://studio.example.com:9000?streamid=path-key-1&passphrase=0123456789'
    await live.made('PATCH', `/ingests/${made.ingests[1].id}`, { name: 'Studio 2', url })
    await live.made('POST', `/ingests/${made.ingests[0].id}/rotate-key`)
    await live.made('DELETE', `/channels/${made.id}`)
    const rows = await live.running.app.ctx.store.read.audit.recent(live.running.accountId, 9)
    expect(rows.map(({ action }) => action)).toEqual([
      'channel.deleted',
      'ingest.key_rotated',
      'ingest.updated',
      'distribution.created',
      'engine.created',
      'engine.created',
      'ingest.created',
      'ingest.created',
      'channel.created',
    ])
    for (const row of rows)
      expect(row).toMatchObject({ actor: { kind: 'credential', id: expect.any(Number) }, address: '127.0.0.1' })
    const text = JSON.stringify(rows)
    for (const secret of [made.ingests[0].streamKey, '0123456789', 'studio.example.com', 'path-key-1']) {
      expect(text).not.toContain(secret)
    }
    expect(JSON.parse(rows[2]?.after ?? '')).toMatchObject({ name: 'Studio 2', sourceChanged: true })
  })
})
