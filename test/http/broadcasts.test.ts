import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { runApp } from '../support/app.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

let clock: ManualClock
let at: TestNode
beforeAll(async () => {
  clock = new ManualClock()
  at = await startTestNode({ clock })
})
afterAll(() => at.close())

const read = async (path: string) => (await at.call('GET', path)).json
const names = ({ data }: { data: { streamName: string }[] }) => data.map(({ streamName }) => streamName)

describe('broadcasts that are over', () => {
  it('are listed with their times, the most viewers at once, bytes, and why they ended', async () => {
    const { id, token } = await makeToken(at, 'publish', { label: 'Crew' })
    const startedOn = new Date(clock.now()).toISOString()
    const publisher = await publish(at, { presented: token })
    const feedId = at.ctx.sessions.feeds.ofStream(at.accountId, 'show')[0]?.feedId
    const viewers = [await view(at), await view(at)]
    at.ctx.streamMeter.sample()
    await closeSession(at.ctx, viewers[0]?.session.id ?? '', 'left')
    countBytes(at.ctx, publisher.session.id, { bytesIn: 9000, bytesOut: 0 })
    countBytes(at.ctx, viewers[1]?.session.id ?? '', { bytesIn: 0, bytesOut: 700 })
    clock.advance(60_000)
    await closeSession(at.ctx, publisher.session.id, 'lost')
    await at.ctx.streamMeter.write(at.ctx.store)
    const broadcast = {
      feedId,
      streamName: 'show',
      streamId: `${at.accountId}/show`,
      protocol: 'whip',
      tokenId: id,
      tokenLabel: 'Crew',
      startedOn,
      endedOn: startedOn,
      mostViewers: 2,
      bytesIn: 9000,
      bytesOut: 700,
      endReason: 'lost',
    }
    // Its media ended a minute before its session.
    expect(await read('/api/streams/show/broadcasts')).toEqual({
      status: 'success',
      data: [broadcast],
      pagination: { hasMore: false },
    })
    await closeSession(at.ctx, viewers[1]?.session.id ?? '', 'source_gone')
  })

  it('are paged, the last to end first, of one stream or of all; what is on the air is not among them', async () => {
    const { token } = await makeToken(at, 'publish')
    for (const streamName of ['a/b', 'c', 'a/b']) {
      clock.advance(1000)
      const { session } = await publish(at, { presented: token, streamName })
      clock.advance(1000)
      await closeSession(at.ctx, session.id, 'left')
    }
    const { session } = await publish(at, { presented: token, streamName: 'c' })
    const first = await read('/api/broadcasts?limit=2')
    expect([names(first), first.pagination.hasMore]).toEqual([['a/b', 'c'], true])
    expect(names(await read(`/api/broadcasts?limit=2&cursor=${first.pagination.cursor}`))).toEqual(['a/b', 'show'])
    expect(names(await read('/api/broadcasts?streamName=c'))).toEqual(['c'])
    const one = await read(`/api/streams/${encodeURIComponent('a/b')}/broadcasts?limit=1&streamName=c`)
    expect(names(one)).toEqual(['a/b'])
    const { cursor } = one.pagination
    expect(names(await read(`/api/streams/a%2Fb/broadcasts?limit=1&cursor=${cursor}`))).toEqual(['a/b'])
    expect((await at.call('GET', `/api/streams/c/broadcasts?cursor=${cursor}`)).status).toBe(400)
    expect((await at.call('GET', '/api/streams/c/broadcasts?Limit=0')).status).toBe(400)
    expect(names(await read('/api/streams/none/broadcasts'))).toEqual([])
    expect(names(await read('/api/streams/ended'))).toEqual(['a/b', 'show'])
    expect(names(await read('/api/streams/ended?search=/B'))).toEqual(['a/b'])
    const { errors } = (await at.call('GET', `/api/streams/ended?limit=0&search=${'x'.repeat(129)}`)).json.data
    expect(Object.keys(errors)).toEqual(['limit', 'search'])
    await closeSession(at.ctx, session.id, 'left')
  })
})

it('GET /api/storage answers what recordings take and what is left', async () => {
  const sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
  const space = { freeBytes: expect.any(Number), totalBytes: expect.any(Number) }
  const { json } = await sluice.call('GET', '/api/storage')
  await sluice.close()
  expect(json.data).toEqual({ recordings: { count: 0, bytes: 0, disk: space }, database: space })
  expect(json.data.recordings.disk.totalBytes).toBeGreaterThan(json.data.recordings.disk.freeBytes)
})

it('answers what media takes as clients of hosted services ask for it', async () => {
  const sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
  onTestFinished(() => sluice.close())
  const { accountId } = sluice
  await sluice.app.ctx.store.transaction(async (tx) => {
    await tx.recordings.insert(newRecording({ accountId, state: 'completed', bytes: 1200 }))
    await tx.recordings.insert(newRecording({ accountId, state: 'completed', bytes: 34 }))
    await tx.recordings.insert(newRecording({ accountId, state: 'recording' }))
    await tx.recordings.insert(newRecording({ accountId: 'zz9999', state: 'completed', bytes: 5 }))
  })
  const read = async (path: string) => (await sluice.call('GET', path)).json.data
  const media = { totalBytes: 1234, recordings: 1234, clips: 0, timelines: 0, vod: 0 }
  expect(await read('/api/analytics/media/storage/usage')).toEqual(media)
  expect(await read('/api/record_files/usage')).toEqual({ totalBytes: 1234 })
})
