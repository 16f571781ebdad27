import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SluiceError } from '../../web/client/index.ts'
import { CREATED, FakeMedia, REFUSED } from './fakes.ts'
import { camera, live, viewing } from './liveClient.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

const NOT_LIVE = REFUSED(409, 'Stream not being published', '2')
const answering = (headers: Record<string, string>) => () => {
  const answer = CREATED()
  for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value)
  return answer
}

it('a viewer that stops deletes the session, closes the connection, and leaves no timer or listener', async () => {
  const { browser, viewer, states } = await live()
  await viewer.stop()
  expect(states.at(-1)).toBe('ended')
  expect(browser.requests('DELETE')).toHaveLength(1)
  expect(browser.peer.connectionState).toBe('closed')
  expect(browser.listeners).toBe(0)
  await browser.pass(120_000)
  expect(browser.sent).toHaveLength(2)
  await viewer.stop()
  expect(browser.sent).toHaveLength(2)
})

it('a viewer may stop while it waits, and while it connects', async () => {
  const waiting = viewing([NOT_LIVE])
  const begun = waiting.viewer.start().catch((error: SluiceError) => error.code)
  await waiting.browser.pass(10)
  await waiting.viewer.stop()
  expect(await begun).toBe('stopped')
  await waiting.browser.pass(60_000)
  expect(waiting.browser.requests('POST')).toHaveLength(1)
  const connecting = viewing()
  void connecting.viewer.start()
  await connecting.browser.pass(10)
  await connecting.viewer.stop()
  await connecting.browser.pass(0)
  expect(connecting.browser.requests('DELETE')).toHaveLength(1)
  expect(connecting.browser.peer.connectionState).toBe('closed')
})

it('a publisher that stopped at some moments of the negotiation went on the air', async () => {
  for (let steps = 0; steps < 40; steps++) {
    const { browser, publisher } = viewing()
    publisher.start(camera()).catch(() => undefined)
    for (let step = 0; step < steps; step++) await Promise.resolve()
    await publisher.stop()
    await browser.pass(0)
    expect(browser.peer.connectionState, `after ${steps} steps`).toBe('closed')
    expect(browser.requests('DELETE')).toHaveLength(browser.requests('POST').length)
  }
})

it('a viewer keeps nothing of attempts and sessions that are over, however many', async () => {
  const { browser, viewer } = viewing([])
  const signals: AbortSignal[] = []
  const { fetch } = browser
  browser.fetch = (url, init) => {
    if (init.signal) signals.push(init.signal)
    return fetch(url, init)
  }
  const kept: number[] = []
  void viewer.start()
  for (let round = 0; round < 3; round++) {
    browser.answers.splice(0, Infinity, NOT_LIVE, CREATED)
    await browser.pass(5000)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(viewer.state).toBe('live')
    kept.push(getEventListeners(signals[0] ?? expect.fail(), 'abort').length)
    browser.peer.closeTransport()
    await browser.pass(0)
  }
  expect(new Set(signals).size).toBe(1)
  expect(kept).toEqual([kept[0], kept[0], kept[0]])
})

it('a viewer plays although the name of the stream in the answer is not encoded as it should be', async () => {
  const { viewer } = await live([answering({ 'X-Stream-Id': 'acc/100%' })])
  expect([viewer.state, viewer.streamId]).toEqual(['live', 'acc/100%'])
})

it.each(['', 'http://[live', 'https://:0/x'])(
  'ends when the answer names no address of the session: %j',
  async (location) => {
    const { browser, viewer, states } = viewing([answering({ Location: location })])
    await expect(viewer.start()).rejects.toMatchObject({
      code: 'unexpected_answer',
      message: 'The answer has no Location',
      status: 201,
    })
    expect(states.at(-1)).toBe('ended: unexpected_answer')
    expect(browser.peer.connectionState).toBe('closed')
  },
)

it('a viewer deletes the session whose answer was lost on its way', async () => {
  const lost = () => {
    const answer = CREATED()
    answer.text = () => Promise.reject(new TypeError('network error'))
    return answer
  }
  const { browser, viewer } = viewing([lost], { reconnect: false })
  await expect(viewer.start()).rejects.toMatchObject({ code: 'no_answer' })
  expect(browser.requests('DELETE').map(({ url }) => url)).toEqual(['https://live.test/api/whep/resource/abc'])
})
