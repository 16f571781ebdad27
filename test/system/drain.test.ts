import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast as play } from '../support/broadcast.ts'
import { FastClock } from '../support/fastClock.ts'
import { follow, mediaPlaylist } from '../support/hlsFollower.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

let place: Place
let recorded: Recorded
const engine = new ScriptedEngine()
/** Of all nodes, publishers and players, so that their waits have the same lengths on any machine. */
const clock = new FastClock(3)
/** Drains. */
let leaving: RunningApp
/** Takes the publishers, and drains then. */
let next: RunningApp
/** Has viewers only, and takes the publishers in the end. */
let third: RunningApp
const nodes = () => [leaving, next, third]

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  leaving = await node(engine)
  next = await node()
  third = await node()
})
afterAll(async () => {
  for (const one of nodes()) await one.close()
  await place.remove()
  clock.close()
})

async function node(media = new ScriptedEngine()): Promise<RunningApp> {
  const port = await ownPort()
  const server = { port, nodeUrl: `http://127.0.0.1:${port}`, drainSeconds: 12 }
  const secrets = { sealingKey: SEALING_KEY }
  return runApp({ engine: media, clock, flags: { storage: { url: place.url }, secrets, server } })
}

const post = (url: string, token = '') => {
  const headers = { 'content-type': 'application/sdp', ...(token && { authorization: `Bearer ${token}` }) }
  return fetch(url, { method: 'POST', redirect: 'manual', headers, body: 'v=0\r\n' })
}

const onAir = (at: RunningApp, streamName: string) => play(at, recorded, { streamName, speed: 1, clock })

const whep = (at: RunningApp, stream: string) => `${at.base}/api/whep/${at.accountId}/${stream}`
const isKnown = (stream: string) =>
  until(() => nodes().every(({ app, accountId }) => app.ctx.streamsOnAir(accountId, stream) !== undefined))

test('nodes that drain move their viewers and publishers to others, which serve them without an error, and then end', async () => {
  const live = await onAir(leaving, 'live')
  const { token } = await makeToken(leaving, 'publish')
  const published = await post(`${leaving.base}/api/whip/show`, token)
  const publisher = engine.asked.at(-1)?.sessionId ?? ''
  engine.emit({ kind: 'connected', sessionId: publisher, address: '127.0.0.1' })
  await isKnown('live')
  await isKnown('show')
  const watched = await post(whep(leaving, 'show'))
  expect([published.status, watched.status]).toEqual([201, 201])
  const viewer = engine.asked.at(-1)?.sessionId ?? ''
  const stays = follow(await mediaPlaylist(third, 'live'), clock)
  const players = [follow(await mediaPlaylist(leaving, 'live'), clock), stays]
  // Of a player that asks much later.
  const late = await mediaPlaylist(third, 'live')
  await until(() => players.every(({ seen }) => seen.length > 1))

  const id = leaving.app.ctx.sessions.node
  expect((await third.call('POST', `/api/nodes/${id}/drain`)).status).toBe(200)
  await until(async () => (await fetch(`${leaving.base}/readyz`)).status === 503)
  expect((await post(`${leaving.base}/api/whip/more`, token)).status).toBe(503)
  expect((await post(whep(leaving, 'show'))).status).toBe(503)
  const master = await fetch(`${leaving.base}/hls/${leaving.accountId}/live/index.m3u8`, { redirect: 'manual' })
  expect(master.status).toBe(307)

  // The player at the node moves before the publishers do.
  const hasLeft = () => leaving.app.ctx.sessions.get(live.feed.sessionId) === undefined
  await until(() => players[0]?.seen.at(-1)?.node !== leaving.base)
  expect(hasLeft()).toBe(false)
  const piece = (await (await fetch(late)).text()).match(/^s\d+\.m4s$/gm)?.at(-1) ?? ''
  const overHls = async () => {
    await until(hasLeft)
    // They ask twice while the publisher is on its way.
    const counts = players.map(({ seen }) => seen.length)
    await until(() => players.every(({ seen }, at) => seen.length > (counts[at] ?? 0) + 2))
    const again = await onAir(next, 'live')
    await until(() => players.every(({ seen }) => seen.at(-1)?.stream === again.feed.feedId))
    // A piece that a playlist named before.
    expect((await fetch(new URL(piece, late))).status).toBe(200)
  }
  const overWebRtc = async () => {
    await until(() => engine.ended.includes(publisher))
    // Publishers leave a little before the end of the drain. This one is back at once.
    await clock.slowly(0, async () => {
      await onAir(next, 'show')
      await until(() => leaving.app.ctx.sessions.feeds.remote(leaving.accountId, 'show', null))
    })
    await clock.slowly(0.25, () => until(() => engine.ended.includes(viewer)))
  }
  await Promise.all([overHls(), overWebRtc()])
  // The media connection ends without a word; the resource says why.
  for (const { headers } of [published, watched])
    for (const method of ['PATCH', 'DELETE']) {
      const gone = await fetch(headers.get('location') ?? '', { method })
      expect([gone.status, await gone.text()]).toEqual([410, 'Gone: another server takes this session. Connect again'])
    }
  expect((await post(whep(leaving, 'show'))).headers.get('location')).toContain(`${next.base}/api/whep/`)

  await leaving.drained
  await players[0]?.end()
  await movesOnce(stays, late)
  await stays.end()
  expect(players.flatMap(({ seen }) => seen.map(({ status }) => status)).filter((status) => status !== 200)).toEqual([])
  expect(players.flatMap(({ seen }) => seen).filter(({ isOver }) => isOver)).toEqual([])
  const { store } = third.app.ctx
  const ends = await Promise.all([publisher, viewer].map((one) => store.read.sessions.get(one)))
  expect(ends.map((one) => one?.endReason)).toEqual(['moved', 'moved'])
})

/** The publisher leaves its second node, too. Players reload the address that they got first. */
async function movesOnce(player: ReturnType<typeof follow>, late: string): Promise<void> {
  const { accountId } = third
  const { sessions } = third.app.ctx
  const before = sessions.feeds.remotesOf(accountId, 'live')
  expect((await third.call('POST', `/api/nodes/${next.app.ctx.sessions.node}/drain`)).status).toBe(200)
  await until(() => next.app.ctx.sessions.feeds.get(accountId, 'live', null) === undefined)
  await until(() => sessions.feeds.remote(accountId, 'live', null) === undefined)
  // As in the moment before this node hears of it: what it reads of changes meanwhile does not count.
  sessions.feeds.setRemote(before, true)
  const reads = [vi.spyOn(sessions.feeds, 'setRemote'), vi.spyOn(sessions.feeds, 'setRemoteOf')]
  for (const read of reads) read.mockReturnValue(undefined)
  const answer = await fetch(late)
  for (const read of reads) read.mockRestore()
  expect([answer.status, answer.url.split('/')[5]]).toEqual([200, before[0]?.feedId])
  const seen = player.seen.length
  await until(() => player.seen.length > seen + 1)
  const last = await onAir(third, 'live')
  await until(() => player.seen.at(-1)?.stream === last.feed.feedId)
  await next.drained
}
