import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CREATED, FakeMedia } from './fakes.ts'
import { live } from './liveClient.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

describe('a client whose session was ended by the server', () => {
  it.each([{ publishes: true }, {}])('follows at once when its server moves the session: %j', async (options) => {
    const { browser, states } = await live([CREATED, CREATED], options)
    browser.deleteStatus = 410
    browser.peer.closeTransport()
    await browser.pass(0)
    expect(browser.requests('POST')).toHaveLength(2)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(states).toEqual(['connecting', 'live', 'reconnecting: moved', 'live'])
  })

  it.each([503, 0])('waits for its server to start again when that stops: DELETE has %j', async (status) => {
    const { browser, states } = await live([CREATED, CREATED], { publishes: true })
    const answered = browser.fetch
    if (status === 0)
      browser.fetch = (url, init) => (init.method === 'DELETE' ? Promise.reject(new TypeError()) : answered(url, init))
    else browser.deleteStatus = status
    browser.peer.closeTransport()
    await browser.pass(5000)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(states).toEqual(['connecting', 'live', 'reconnecting: connection_lost', 'live'])
  })

  it('does not wait long for a server that does not say why it ended the session', async () => {
    const { browser, states } = await live([CREATED, CREATED], { publishes: true })
    const answered = browser.fetch
    browser.fetch = (url, init) => (init.method === 'DELETE' ? new Promise(() => undefined) : answered(url, init))
    browser.peer.closeTransport()
    await browser.pass(2000)
    expect(states.at(-1)).toBe('ended: ended_by_server')
  })
})
