import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, writeBytes } from '../../src/commands/sessions/count.ts'
import { newSession } from '../conformance/store.samples.ts'
import { type TestNode, makeToken, publish, startTestNode, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let at: TestNode
beforeAll(async () => {
  at = await startTestNode()
})
afterEach(async () => {
  for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
})
afterAll(() => at.close())

const list = async (query = '') => (await at.call('GET', `/api/sessions${query}`)).json
const ids = async (query = '') => ((await list(query)).data as { id: string }[]).map(({ id }) => id)

it('GET /api/sessions lists open sessions with all their known fields, newest first', async () => {
  const broadcast = await makeToken(at, 'publish')
  const subscribe = await makeToken(at, 'subscribe', { tracking: { trackingId: 'customer' } })
  const origin = 'https://www.example.com'
  const publisher = await publish(at, { presented: broadcast.token, sourceId: 'main', country: 'NZ' })
  const viewer = await view(at, { presented: subscribe.token, ip: '2001:db8::1', origin, sourceId: 'main' })
  countBytes(at.ctx, viewer.session.id, { bytesIn: 10, bytesOut: 2000 })
  const { data, pagination } = await list()
  expect(pagination).toEqual({ hasMore: false })
  const stream = { streamName: 'show', streamId: `${at.accountId}/show`, startedOn: expect.any(String) }
  expect(data).toEqual([
    {
      ...stream,
      id: viewer.session.id,
      action: 'view',
      protocol: 'whep',
      sourceId: 'main',
      tokenId: subscribe.id,
      trackingId: 'customer',
      address: '2001:db8::1',
      origin,
      bytesIn: 10,
      bytesOut: 2000,
    },
    {
      ...stream,
      id: publisher.session.id,
      action: 'publish',
      protocol: 'whip',
      sourceId: 'main',
      feedId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      shown: true,
      tokenId: broadcast.id,
      address: '192.0.2.1',
      country: 'NZ',
      bytesIn: 0,
      bytesOut: 0,
    },
  ])
})

it('filters and pages; a cursor is valid only for its own query', async () => {
  const broadcast = await makeToken(at, 'publish')
  const { session } = await publish(at, { presented: broadcast.token })
  const viewers = []
  for (let n = 0; n < 25; n++) viewers.unshift((await view(at, { ip: `198.51.100.${n % 5}` })).session.id)
  expect(await ids('?action=publish')).toEqual([session.id])
  expect(await ids(`?tokenId=${broadcast.id}&protocol=whip&streamName=show&address=192.0.2.1`)).toEqual([session.id])
  expect(await ids('?address=198.51.100.3')).toHaveLength(5)
  expect(await ids('?streamName=none')).toEqual([])
  const first = await list('?action=view&limit=20')
  const { cursor } = first.pagination as { cursor: string }
  const rest = await ids(`?action=view&limit=20&cursor=${cursor}`)
  expect([...(first.data as { id: string }[]).map(({ id }) => id), ...rest]).toEqual(viewers)
  expect((await at.call('GET', `/api/sessions?action=publish&cursor=${cursor}`)).status).toBe(400)
  const wrong = await list('?action=look&protocol=x&tokenId=-1&address=home&limit=0&colour=red')
  expect(Object.keys(wrong.data.errors)).toEqual(['action', 'protocol', 'tokenId', 'address', 'limit'])
})

it('DELETE /api/sessions/{id} cuts one session and writes an audit row; an unknown one is a 404', async () => {
  const broadcast = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: broadcast.token })
  const [one, two] = [await view(at), await view(at)]
  expect((await at.call('DELETE', `/api/sessions/${one.session.id}`)).json).toEqual({ status: 'success', data: true })
  expect([publisher.cuts, one.cuts, two.cuts]).toEqual([[], ['kicked'], []])
  expect(await ids()).toEqual([two.session.id, publisher.session.id])
  const [row] = await at.ctx.store.read.audit.recent(at.accountId, 1)
  expect(row).toMatchObject({
    action: 'session.end',
    subject: one.session.id,
    actor: { kind: 'secret', id: expect.any(Number) },
  })
  const foreign = newSession({ accountId: 'other1' })
  await at.ctx.store.transaction((tx) => tx.sessions.insert(foreign, 'nowhere'))
  for (const id of [one.session.id, foreign.id, 'nobody']) {
    const answer = await at.call('DELETE', `/api/sessions/${id}`)
    expect(answer).toMatchObject({ status: 404, json: { status: 'fail', data: { sessionId: expect.any(String) } } })
  }
})

it('POST /api/stream/stop ends all sessions of a stream, and no others', async () => {
  const broadcast = await makeToken(at, 'publish')
  const publisher = await publish(at, { presented: broadcast.token })
  const viewers = [await view(at), await view(at)]
  const other = await publish(at, { presented: broadcast.token, streamName: 'a/b' })
  const stop = (streamId: unknown) => at.call('POST', '/api/stream/stop', { streamId })
  expect((await stop(`${at.accountId}/show`)).json.data).toEqual({ stoppingLevel: 'Stream' })
  expect([publisher, ...viewers].map(({ cuts }) => cuts)).toEqual([['stopped'], ['stopped'], ['stopped']])
  expect((await stop(`${at.accountId}/show`)).json.data).toEqual({ stoppingLevel: 'None' })
  expect(other.cuts).toEqual([])
  expect((await stop(`${at.accountId}/a/b`)).json.data).toEqual({ stoppingLevel: 'Stream' })
  expect(other.cuts).toEqual(['stopped'])
  expect(await at.scrape()).toMatch(/^sluice_session_cut_seconds_bucket\{le="5"\} [4-9]/m)
  expect((await stop('other1/show')).status).toBe(404)
  for (const wrong of [undefined, 5, 'show', `${at.accountId}/`]) expect((await stop(wrong)).status).toBe(400)
})

it('counts open, admitted and refused sessions for Prometheus', async () => {
  const broadcast = await makeToken(at, 'publish')
  const { session } = await publish(at, { presented: broadcast.token })
  await view(at)
  countBytes(at.ctx, session.id, { bytesIn: 5, bytesOut: 0 })
  await expect(publish(at, { presented: 'wrong' })).rejects.toThrow('invalid_token')
  const scrape = async () => (await at.scrape()).split('\n')
  await until(async () => (await scrape()).includes('sluice_sessions{action="publish",protocol="whip"} 1'))
  const lines = await scrape()
  expect(lines).toContain('sluice_sessions{action="view",protocol="whep"} 1')
  expect(lines).toContain('sluice_feeds 1')
  expect(lines).toContain('sluice_refusals_total{code="invalid_token"} 1')
  // Each reason is a series from the start, so that its first occurrence shows as an increase.
  expect(lines).toContain('sluice_sessions_ended_total{reason="engine_died"} 0')
  expect(lines).toContain('sluice_media_processes_ended_total{cause="hung"} 0')
  const admissions = lines.find((line) => line.startsWith('sluice_admissions_total{action="publish",protocol="whip"}'))
  expect(Number(admissions?.split(' ')[1])).toBeGreaterThan(0)
  expect(lines.some((line) => line.startsWith('sluice_media_bytes_total{direction="in"}'))).toBe(true)
})

it('has series of what viewers report, and of the fifty streams with the most viewers', async () => {
  const room = `${at.accountId}/busy`
  const { token } = await makeToken(at, 'publish')
  const names = [...Array.from({ length: 52 }, (_, n) => `quiet${n}`), 'busy']
  await Promise.all(names.map((streamName) => publish(at, { presented: token, streamName })))
  for (let n = 0; n < 2; n++) await view(at, { streamName: 'busy' })
  const said = { room, nacks: 7, keyframeRequests: 3, lossShare: 0.25, roundTripMs: 80, firstPacketsMs: [40, 250] }
  at.ctx.viewerFeedback.heard([said])
  at.ctx.viewerFeedback.heard([{ ...said, nacks: 0, keyframeRequests: 0, lossShare: null, firstPacketsMs: [] }])
  const lines = (await at.scrape()).split('\n')
  const of = `{account="${at.accountId}",stream="busy"`
  expect(lines).toContain(`sluice_stream_viewers${of},protocol="whep"} 2`)
  expect(lines).toContain(`sluice_stream_viewers${of},protocol="hls"} 0`)
  expect(lines).toContain(`sluice_stream_bytes_total${of},direction="out"} 0`)
  expect(lines).toContain(`sluice_stream_loss_ratio${of}} 0.25`)
  expect(lines).toContain(`sluice_stream_round_trip_seconds${of}} 0.08`)
  expect(lines.filter((line) => line.startsWith('sluice_stream_bytes_total{'))).toHaveLength(100)
  expect(lines).toContain('sluice_viewer_nacks_total 7')
  expect(lines).toContain('sluice_viewer_keyframe_requests_total 3')
  expect(lines).toContain('sluice_viewer_first_packet_seconds_bucket{le="0.05"} 1')
  expect(lines).toContain('sluice_viewer_first_packet_seconds_count 2')
  expect(lines).toContain('sluice_session_ends_waiting 0')
  const written = (all: readonly string[]) =>
    Number(all.find((line) => line.startsWith('sluice_written_rows_total'))?.split(' ')[1])
  const { session } = await view(at, { streamName: 'busy' })
  countBytes(at.ctx, session.id, { bytesIn: 0, bytesOut: 5 })
  await writeBytes(at.ctx)
  expect(written((await at.scrape()).split('\n'))).toBeGreaterThan(written(lines))
})
