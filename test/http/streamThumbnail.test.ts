import { afterAll, beforeAll, expect, it } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { captureThumbnail } from '../../src/commands/recordings/thumbnails.ts'
import { LatestThumbnails } from '../../src/services/latestThumbnails.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken, publish } from '../support/testNode.ts'

const JPEG = Buffer.from('ffd8ffe000104a464946', 'hex')

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags: { rtmp: { enabled: false } }, engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const at = () => ({ ctx: sluice.app.ctx, accountId: sluice.accountId })
const path = (streamName: string) => `/api/streams/${encodeURIComponent(streamName)}/thumbnail`
const why = async (streamName: string) => {
  const { status, json } = await sluice.call('GET', path(streamName))
  return [status, json.data.streamName]
}
const feedOf = (streamName: string) => {
  const feed = at().ctx.sessions.feed(sluice.accountId, streamName, null)
  if (!feed) throw new Error('not on the air')
  return feed
}

it('answers the latest thumbnail of a stream while it is on the air, and a reason when there is none', async () => {
  expect(await why('cam/1')).toEqual([404, 'No stream of this name is on the air'])
  const plain = await makeToken(sluice, 'publish')
  await publish(at(), { presented: plain.token, streamName: 'plain' })
  expect(await why('plain')).toEqual([404, expect.stringContaining('set enableThumbnails')])
  const { token } = await makeToken(sluice, 'publish', { enableThumbnails: true })
  const { session } = await publish(at(), { presented: token, streamName: 'cam/1' })
  expect(await why('cam/1')).toEqual([404, expect.stringContaining('No thumbnail was taken yet')])
  await captureThumbnail(at().ctx, feedOf('cam/1'), Buffer.from('older'))
  await captureThumbnail(at().ctx, feedOf('cam/1'), JPEG)
  const response = await fetch(sluice.base + path('cam/1'), { headers: { authorization: `Bearer ${sluice.secret}` } })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
  expect(Buffer.from(await response.arrayBuffer())).toEqual(JPEG)
  const etag = response.headers.get('etag') ?? ''
  expect((await sluice.call('GET', path('cam/1'), undefined, { 'if-none-match': etag })).status).toBe(304)
  const viewer = await browserOf(sluice, 'viewer')
  expect((await viewer.call('GET', path('cam/1').slice('/api'.length))).status).toBe(200)
  expect((await fetch(sluice.base + path('cam/1'))).status).toBe(401)
  await closeSession(at().ctx, session.id, 'left')
  expect(await why('cam/1')).toEqual([404, 'No stream of this name is on the air'])
})

it('keeps so many bytes of thumbnails, and drops the oldest first', () => {
  let end = (_feed: string): void => undefined
  const watchFeeds = (listener: (feed: never, what: 'ended') => void) => {
    end = (feedId) => listener({ feedId } as never, 'ended')
    return () => undefined
  }
  const thumbnails = new LatestThumbnails({ watchFeeds }, 100)
  const put = (feedId: string, bytes: number) => thumbnails.put({ feedId }, new Uint8Array(bytes), 1)
  const kept = () => ['a', 'b', 'c'].filter((feedId) => thumbnails.of(feedId) !== undefined)
  put('a', 40)
  put('b', 40)
  put('a', 50)
  expect(kept()).toEqual(['a', 'b'])
  put('c', 20)
  expect(kept()).toEqual(['a', 'c'])
  end('a')
  put('b', 80)
  expect(kept()).toEqual(['b', 'c'])
})
