import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'
import { startTurn, type Turn } from './turn.ts'

let turn: Turn
let stage: Stage
beforeAll(async () => {
  turn = await startTurn()
  stage = await setStage({ SLUICE_WEBRTC_HOST: '127.0.0.1', SLUICE_WEBRTC_ICE_SERVERS: turn.entry })
})
afterAll(async () => {
  await stage.close()
  await turn.stop()
})

async function open(): Promise<Peer> {
  const peer = await stage.peer()
  await peer.relayedOnly()
  return peer
}

test('a browser that can reach only the TURN server in the answer broadcasts, and another one watches', async () => {
  const { token } = await stage.token('publish', { streams: [{ streamName: 'wall' }] })
  const [publisher, viewer] = [await open(), await open()]
  expect(await publisher.publish({ url: stage.whip('wall'), token })).toBe('ok')
  const request = { url: stage.whep('wall') }
  await viewer.watchSoon(request)
  await viewer.plays()
})
