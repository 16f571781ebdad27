import { afterAll, beforeAll, expect, test } from 'vitest'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { until } from '../support/until.ts'

let sluice: RunningApp
let h264: Recorded
beforeAll(async () => {
  h264 = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, bframes: 2, size: '320x180' })
  sluice = await runApp()
})
afterAll(() => sluice.close())

interface Entry {
  readonly id: string
  readonly state: string
  readonly feedId: string
  readonly durationMs?: number
}

const list = async (streamName: string): Promise<Entry[]> =>
  (await sluice.call('GET', `/api/recordings?streamName=${streamName}`)).json.data as Entry[]
const turn = async (streamName: string, body: object) => {
  const { status, json } = await sluice.call('POST', `/api/streams/${streamName}/record`, body)
  return [status, json.data]
}

test('a recording begins and ends during a broadcast, and each time becomes a file', async () => {
  const live = await broadcast(sluice, h264, { streamName: 'switched', speed: 4 })
  await live.player.plays(1)
  expect(await list('switched')).toEqual([])
  expect(await turn('switched', { record: true })).toEqual([200, { record: true }])
  await until(async () => (await list('switched')).length === 1)
  const onAir = (await sluice.call('GET', '/api/streams/live?streamName=switched')).json.data
  expect(onAir).toMatchObject([{ recorded: true }])
  // One that is recorded goes on.
  expect(await turn('switched', { record: true })).toEqual([200, { record: true }])
  await live.player.plays(2)
  expect(await turn('switched', { record: false })).toEqual([200, { record: false }])
  await until(async () => (await list('switched'))[0]?.state === 'completed')
  // The broadcast goes on, and can be recorded again.
  await live.player.plays(1)
  expect(await turn('switched', { record: true })).toEqual([200, { record: true }])
  await until(async () => (await list('switched')).length === 2)
  await live.player.plays(2)
  await live.end()
  await until(async () => (await list('switched')).every(({ state }) => state === 'completed'))
  const made = await list('switched')
  expect(made).toHaveLength(2)
  for (const { id, durationMs } of made) {
    expect(durationMs).toBeGreaterThan(0)
    expect((await sluice.call('GET', `/api/recordings/${id}/thumbnail`)).status).toBe(200)
  }
  const { accountId, app } = sluice
  const rows = await app.ctx.store.read.audit.page({ accountId, limit: 10 })
  const actions = rows.filter(({ subject }) => subject === 'switched').map(({ action }) => action)
  expect(actions).toEqual(['recording.start', 'recording.stop', 'recording.start', 'recording.start'])
})

test('a publisher that takes over goes on with what users switched', async () => {
  const first = await broadcast(sluice, h264, { streamName: 'taken', speed: 4 })
  expect(await turn('taken', { record: true })).toEqual([200, { record: true }])
  await until(async () => (await list('taken')).length === 1)
  const second = await broadcast(sluice, h264, { streamName: 'taken', speed: 4 })
  await until(async () => (await list('taken')).length === 2)
  const feeds = (await list('taken')).map(({ feedId }) => feedId)
  expect(feeds).toEqual([second.feed.feedId, first.feed.feedId])
  await second.end()
  // The next broadcast follows its token.
  const third = await broadcast(sluice, h264, { streamName: 'taken', speed: 4 })
  expect(third.feed.record).toBe(false)
  await third.end()
})

test.each([
  [{ record: true }, 404, 'streamName'],
  [{}, 400, 'record'],
  [{ record: 'yes' }, 400, 'record'],
  [{ record: true, more: 1 }, 400, 'more'],
])('%j for a stream that is off the air is refused with %i, which names %s', async (body, status, field) => {
  const [answered, data] = await turn('nothing', body)
  expect(answered).toBe(status)
  expect(JSON.stringify(data)).toContain(field)
})
