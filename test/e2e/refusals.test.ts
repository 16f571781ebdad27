import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

// What a page gets. `test/http/refusals.test.ts` has every refusal and its words.
let stage: Stage
let publisher: Peer
let viewer: Peer

/** The stream `secured` is on the air in all tests of this file. */
const name = 'secured'
const streams = [{ streamName: name }]

beforeAll(async () => {
  stage = await setStage()
  const { token } = await stage.token('publish', { streams, subscribeRequiresAuth: true })
  ;[publisher, viewer] = [await stage.peer(), await stage.peer('watch.allowed.test')]
  expect(await publisher.publish({ url: stage.whip(name), token })).toBe('ok')
  const { token: subscribe } = await stage.token('subscribe', { streams })
  const request = { url: stage.whep(name), token: subscribe }
  await until(async () => (await viewer.watch(request)) === 'ok')
})
afterAll(() => stage.close())

/** The result that a page gets with this token. */
async function watched(token: string, stream = name): Promise<string> {
  const answer = await viewer.watch({ url: stage.whep(stream), token })
  if (answer === 'ok') await viewer.stop()
  return answer
}

const INVALID = '401 Unauthorized: Invalid token'

test('a page with an unknown token gets the words of the interface, over WHIP, WHEP and HLS', async () => {
  const token = 'f'.repeat(64)
  expect(await viewer.publish({ url: stage.whip(name), token })).toBe(INVALID)
  expect(await watched(token)).toBe(INVALID)
  expect(await viewer.hls({ url: stage.hls(name), token })).toBe(INVALID)
})

test('a page of another origin is refused, one of an allowed origin plays', async () => {
  const { token } = await stage.token('subscribe', { streams, allowedOrigins: ['*.allowed.test'] })
  const foreign = await stage.peer()
  expect(await foreign.watch({ url: stage.whep(name), token })).toBe('401 Unauthorized: Origin not allowed')
  expect(await watched(token)).toBe('ok')
})

test('a page that watches an unpublished stream gets a 409', async () => {
  const { token } = await stage.token('subscribe', { streams: [{ streamName: 'silent' }] })
  expect(await watched(token, 'silent')).toBe('409 Stream not being published')
})

test('a self-signed token plays, a forged one does not', async () => {
  const parent = await stage.token('subscribe', { streams })
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = (key: string): string => {
    const streaming = { tokenId: parent.id, tokenType: 'Subscribe', streamName: name }
    const claims = { exp: Math.floor(Date.now() / 1000 + 60), streaming }
    const input = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
  }
  expect(await watched(signed(parent.token))).toBe('ok')
  expect(await watched(signed('f'.repeat(64)))).toBe(INVALID)
})

test('the broadcast has continued through all of this', async () => {
  const { token } = await stage.token('subscribe', { streams })
  const peer = await stage.peer()
  expect(await peer.watch({ url: stage.whep(name), token })).toBe('ok')
  await peer.plays()
})
