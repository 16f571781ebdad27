import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readMediaPlaylist } from '../hls/playlist.ts'
import { encoded, type Recorded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Broadcast, broadcast } from '../support/broadcast.ts'
import { FastClock } from '../support/fastClock.ts'
import { follow, mediaPlaylist } from '../support/hlsFollower.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'

let place: Place
let recorded: Recorded
const clock = new FastClock(3)
/** Has the first publisher. */
let one: RunningApp
/** Has the second. */
let two: RunningApp
let third: RunningApp
const nodes = () => [one, two, third]

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  one = await node()
  two = await node()
  third = await node()
})
afterAll(async () => {
  for (const at of nodes()) await at.close()
  await place.remove()
  clock.close()
})

async function node(): Promise<RunningApp> {
  const port = await ownPort()
  const server = { port, nodeUrl: `http://127.0.0.1:${port}` }
  const secrets = { sealingKey: SEALING_KEY }
  return runApp({ engine: new ScriptedEngine(), clock, flags: { storage: { url: place.url }, secrets, server } })
}

const onAir = (at: RunningApp, streamName: string) => broadcast(at, recorded, { streamName, speed: 1, clock })

/** A player of each node, which has got some playlists. */
async function play(stream: string) {
  await until(() => nodes().every(({ app, accountId }) => app.ctx.streamsOnAir(accountId, stream) !== undefined))
  const urls = await Promise.all(nodes().map((at) => mediaPlaylist(at, stream)))
  const players = urls.map((url) => follow(url, clock))
  await until(() => players.every(({ seen }) => seen.length > 1))
  return {
    /** Their playlist is of this broadcast. */
    see: ({ feed }: Broadcast) => until(() => players.every(({ seen }) => seen.at(-1)?.stream === feed.feedId)),
    /** Ends them. The requests that did not get a playlist that goes on. */
    async troubles() {
      for (const player of players) await player.end()
      return players.flatMap(({ seen }) => seen).filter(({ status, isOver }) => status !== 200 || isOver)
    },
    /** Asks the first node for the part after the next one, as a player does that waits for it. */
    async blocks() {
      const { segments, open } = readMediaPlaylist(await (await fetch(urls[0]!)).text())
      const [msn, part] = [(segments.at(-1)?.number ?? 0) + 1, (open?.parts.length ?? 0) + 1]
      return fetch(`${urls[0]}?_HLS_msn=${msn}&_HLS_part=${part}`)
    },
  }
}

describe.concurrent('HLS players of all nodes go on without an error', () => {
  test('when a publisher is replaced by one at another node, and that one at the first node', async () => {
    await onAir(one, 'replaced')
    const players = await play('replaced')
    await players.see(await onAir(two, 'replaced'))
    await players.see(await onAir(one, 'replaced'))
    expect(await players.troubles()).toEqual([])
  })

  test('when a publisher that was killed is back at another node, and then at the first node', async () => {
    const killed = await onAir(one, 'killed')
    const players = await play('killed')
    await killed.vanish()
    const waiting = players.blocks()
    const again = await onAir(two, 'killed')
    const answer = await waiting
    expect([answer.status, (await answer.text()).includes('#EXT-X-ENDLIST')]).toEqual([200, false])
    await players.see(again)
    await again.vanish()
    await players.see(await onAir(one, 'killed'))
    expect(await players.troubles()).toEqual([])
  })
})

test('a player of the node of both publishers goes on when the node is told to end the first before it knows of the second', async () => {
  const first = await onAir(one, 'slow')
  const players = await play('slow')
  const { store, sessions } = one.app.ctx
  const transaction = store.transaction.bind(store)
  const written = vi.spyOn(store, 'transaction').mockImplementation(async (work) => {
    const value = await transaction(work)
    // The answer to the commit that replaces it comes late.
    if (isReplacing(value)) await until(() => !sessions.has(first.feed.sessionId))
    return value
  })
  const second = await onAir(one, 'slow')
  written.mockRestore()
  await until(async () => {
    const { segments } = readMediaPlaylist(await (await fetch(await mediaPlaylist(one, 'slow'))).text())
    return segments.some(({ discontinuity }) => discontinuity)
  })
  await players.see(first)
  expect(second.feed.feedId).not.toBe(first.feed.feedId)
  expect(await players.troubles()).toEqual([])
})

/** What `goLive` writes. */
const isReplacing = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'replaced' in value &&
  Array.isArray(value.replaced) &&
  value.replaced.length > 0
