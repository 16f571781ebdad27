import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { setStage, type Stage } from './sluice.ts'

let place: Place
let owner: Stage
let other: Stage

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  owner = await node()
  other = await node()
})
afterAll(async () => {
  await other.close()
  await owner.close()
  await place.remove()
})

async function node(): Promise<Stage> {
  const port = await ownPort()
  return setStage({
    SLUICE_STORAGE_URL: place.url,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SERVER_PORT: String(port),
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
    SLUICE_SERVER_HANDOVER: 'redirect',
  })
}

test('a browser follows a redirect to the node that has the feed, with its token and its origin', async () => {
  const streams = [{ streamName: 'show' }]
  const publish = await owner.token('publish', { streams, subscribeRequiresAuth: true })
  const { token } = await owner.token('subscribe', { streams, allowedOrigins: ['*.allowed.test'] })
  const publisher = await owner.peer()
  expect(await publisher.publish({ url: owner.whip('show'), token: publish.token })).toBe('ok')
  const viewer = await owner.peer('watch.allowed.test')
  await viewer.watchSoon({ url: other.whep('show'), token })
  await viewer.plays()
  const foreign = await owner.peer('elsewhere.test')
  expect(await foreign.watch({ url: other.whep('show'), token })).toBe('401 Unauthorized: Origin not allowed')
  const page = await owner.browser.newPage()
  await page.goto(`${owner.origin('watch.allowed.test')}/library.html`)
  await page.waitForFunction('globalThis.library !== undefined')
  const request = JSON.stringify({ url: other.whep('show'), token })
  expect(await page.evaluate(`library.watch(${request})`)).toBe('ok')
  await expect.poll(() => page.evaluate('library.frames()')).toBeGreaterThan(10)
})
