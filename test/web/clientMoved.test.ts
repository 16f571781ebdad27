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

  it('does not wait long for a server that does not say why it ended the session', async () => {
    const { browser, states } = await live([CREATED, CREATED], { publishes: true })
    const answered = browser.fetch
    browser.fetch = (url, init) => (init.method === 'DELETE' ? new Promise(() => undefined) : answered(url, init))
    browser.peer.closeTransport()
    await browser.pass(2000)
    expect(states.at(-1)).toBe('ended: ended_by_server')
  })
})
