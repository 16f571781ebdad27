import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CREATED, type FakeBrowser, FakeMedia, REFUSED } from './fakes.ts'
import { live } from './liveClient.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

const THERE = () => new Response(null, { status: 204 })
const OVER = REFUSED(404, 'Not found: this session is over or never was')

/** What the server sends: media to a viewer, reports to a publisher. */
function hears({ peer }: FakeBrowser, bytes: number): void {
  peer.report = [
    { type: 'inbound-rtp', bytesReceived: bytes },
    { type: 'candidate-pair', bytesReceived: bytes },
  ]
}

let bytes = 1000
/** Media flows for this time. */
async function flow(browser: FakeBrowser, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    hears(browser, (bytes += 1000))
    await browser.pass(100)
  }
}

/** The seconds of a silence at which it asks. */
async function asksIn(browser: FakeBrowser, seconds: number): Promise<number[]> {
  const fromMs = browser.timeMs
  const asked: number[] = []
  for (let before = browser.requests('PATCH').length; browser.timeMs < fromMs + 1000 * seconds; ) {
    await browser.pass(100)
    const now = browser.requests('PATCH').length
    if (now > before) asked.push((browser.timeMs - fromMs) / 1000)
    before = now
  }
  return asked
}

describe.each([{}, { publishes: true }])('a client that hears nothing more: %j', (options) => {
  it('asks once, by candidates that change nothing, and stays if its session is there', async () => {
    const { browser, states } = await live([CREATED, THERE], options)
    await flow(browser, 3000)
    expect(await asksIn(browser, 30)).toHaveLength(1)
    expect(browser.requests('PATCH')[0]).toMatchObject({
      headers: { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '"one"' },
      body: 'a=ice-ufrag:our0\r\na=ice-pwd:secret0\r\n',
    })
    await flow(browser, 3000)
    expect(browser.requests('POST')).toHaveLength(1)
    expect(states).toEqual(['connecting', 'live'])
  })

  it('connects again at once when the server has ended its session', async () => {
    const { browser, states } = await live([CREATED, OVER, CREATED], options)
    await flow(browser, 3000)
    await browser.pass(1000)
    expect(browser.requests('POST')).toHaveLength(2)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(states).toEqual(['connecting', 'live', 'reconnecting: connection_lost', 'live'])
  })

  it('follows a session that was moved', async () => {
    const { browser, states } = await live([CREATED, REFUSED(410, 'Gone'), CREATED], options)
    await flow(browser, 3000)
    await browser.pass(1000)
    expect(browser.requests('POST')).toHaveLength(2)
    expect(states.at(-1)).toBe('reconnecting: moved')
  })

  it('learns nothing from a server that does not answer, takes no candidates, or is too busy', async () => {
    for (const answer of [() => null, REFUSED(405, ''), REFUSED(412, ''), REFUSED(503, 'too busy')]) {
      const { browser } = await live([CREATED, answer], options)
      await flow(browser, 3000)
      expect(await asksIn(browser, 10)).toHaveLength(1)
      expect(browser.requests('POST')).toHaveLength(1)
    }
  })
})

it('a viewer whose publisher has left waits in its session, and plays when media comes', async () => {
  const { browser, states } = await live([CREATED, REFUSED(409, 'Stream not being published')])
  await flow(browser, 3000)
  await browser.pass(5000)
  expect(states).toEqual(['connecting', 'live', 'waiting: stream_not_published'])
  await flow(browser, 1000)
  expect(states.at(-1)).toBe('live')
  expect([browser.requests('PATCH'), browser.requests('POST')].map(({ length }) => length)).toEqual([1, 1])
})

it('a viewer whose publisher has left goes on waiting when the server ends its session, because none came', async () => {
  const left = REFUSED(409, 'Stream not being published')
  const { browser, states } = await live([CREATED, left, left, CREATED])
  await flow(browser, 3000)
  await browser.pass(5000)
  browser.peer.closeTransport()
  await browser.pass(5000)
  browser.peer.become('connected')
  await browser.pass(0)
  expect(states).toEqual(['connecting', 'live', 'waiting: stream_not_published', 'live'])
})

it('asks later in each silence, up to eight seconds, and soon again after a minute of calm', async () => {
  const { browser } = await live([CREATED, THERE])
  browser.random = () => 0.999
  const asked: number[] = []
  for (let silence = 0; silence < 6; silence++) {
    await flow(browser, 1000)
    asked.push(...(await asksIn(browser, 10)))
  }
  const delays = asked.map((seconds) => Math.round(2 * (seconds - 1)) / 2)
  expect(delays).toEqual([0.5, 1, 2, 4, 8, 8])
  await flow(browser, 61_000)
  const [last = 0] = await asksIn(browser, 10)
  expect(last).toBeLessThan(2)
})

it('does not ask when media comes again before', async () => {
  const { browser } = await live([CREATED, THERE])
  browser.random = () => 0.999
  for (let silence = 0; silence < 10; silence++) {
    await flow(browser, 1000)
    await browser.pass(500)
  }
  expect(browser.requests('PATCH')).toEqual([])
})

it('asks nothing while it restarts ICE, which says the same', async () => {
  const { browser } = await live([CREATED, () => null])
  await flow(browser, 3000)
  browser.peer.become('disconnected')
  await browser.pass(5000)
  expect(new Set(browser.requests('PATCH').map(({ headers }) => headers['If-Match']))).toEqual(new Set(['*']))
})

it('a machine that wakes up is not on the air again, though its page runs before the browser misses the server', async () => {
  const { browser, states } = await live([CREATED, OVER, CREATED], { publishes: true })
  await flow(browser, 3000)
  browser.timeMs += 3_600_000
  await browser.pass(5000)
  expect(states.at(-1)).toBe('ended: connection_lost')
  expect(browser.requests('POST')).toHaveLength(1)
})
