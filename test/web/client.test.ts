import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { build, type Rollup } from 'vite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { delayMs } from '../../web/client/backoff.ts'
import { SluiceError, WhepViewer } from '../../web/client/index.ts'
import { withCredentials } from '../../web/client/sdp.ts'
import { iceServersOf } from '../../web/client/signaling.ts'
import { type Answers, CREATED, FakeBrowser, FakeMedia, REFUSED } from './fakes.ts'
import { camera, live, viewing } from './liveClient.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

const NOT_LIVE = REFUSED(409, 'Stream not being published', '2')
const INVALID = REFUSED(401, 'Unauthorized: Invalid token')
describe('a viewer', () => {
  it('sends its token and an offer, uses the ICE servers of the answer, and plays', async () => {
    const { browser, viewer, states } = viewing(undefined, { token: 'abc', sourceId: 'left' })
    browser.answers[0] = () => {
      const answer = CREATED()
      answer.headers.set('Link', '<stun:a.test>; rel="ice-server"')
      return answer
    }
    const begun = viewer.start()
    await browser.pass(0)
    expect(browser.sent[0]).toMatchObject({
      method: 'POST',
      url: 'https://live.test/api/whep/acc/show?sourceId=left',
      headers: { Authorization: 'Bearer abc', 'Content-Type': 'application/sdp' },
    })
    expect(browser.peer.configuration).toEqual({ bundlePolicy: 'max-bundle', iceServers: [{ urls: 'stun:a.test' }] })
    expect(browser.peer.transceivers.map(({ kind, init }) => [kind, init.direction])).toEqual([
      ['video', 'recvonly'],
      ['audio', 'recvonly'],
    ])
    const track = { kind: 'video' }
    browser.peer.dispatchEvent(Object.assign(new Event('track'), { track }))
    browser.peer.become('connected')
    expect((await begun).getTracks()).toEqual([track])
    expect(states).toEqual(['connecting', 'live'])
    expect(viewer.streamId).toBe('acc/show')
  })

  it('waits for the publisher, as long as the server asks, and then plays', async () => {
    const { browser, viewer, states } = viewing([NOT_LIVE, NOT_LIVE, CREATED])
    const begun = viewer.start()
    await browser.pass(1999)
    expect(browser.requests('POST')).toHaveLength(1)
    await browser.pass(4000)
    expect(browser.requests('POST')).toHaveLength(3)
    browser.peer.become('connected')
    await begun
    expect(states).toEqual(['connecting', 'waiting: stream_not_published', 'live'])
    expect(browser.peers.map(({ connectionState }) => connectionState)).toEqual(['closed', 'closed', 'connected'])
  })

  it.each([
    [401, 'Unauthorized: Invalid token', 'invalid_token'],
    [401, 'Unauthorized: Token disabled', 'token_disabled'],
    [401, 'Unauthorized: Token expired', 'token_expired'],
    [401, 'Unauthorized: StreamName is not valid for token', 'stream_name_not_allowed'],
    [401, 'Unauthorized: Origin not allowed', 'origin_not_allowed'],
    [401, 'Unauthorized: IP Address not allowed', 'address_not_allowed'],
    [401, 'Unauthorized: Country not allowed', 'country_not_allowed'],
    [406, "The stream's video is AV1, which the offer does not receive.", 'codec_not_supported'],
    [400, 'Bad request: the offer is empty', 'bad_request'],
    [404, 'Not found: the path is …', 'not_found'],
    [500, '', 'unexpected_answer'],
  ])('ends with the refusal as the server sent it: %d %s', async (status, text, code) => {
    const { browser, viewer, states } = viewing([REFUSED(status, text)])
    const error = await viewer.start().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SluiceError)
    expect(error).toMatchObject({ code, status, message: text || `HTTP ${status}`, isTemporary: false })
    expect(states).toEqual(['connecting', `ended: ${code}`])
    await browser.pass(60_000)
    expect(browser.sent).toHaveLength(1)
    expect(browser.peer.connectionState).toBe('closed')
    expect(browser.listeners).toBe(0)
  })

  it('notices at once that the server ended its session, asks again, and gets the reason', async () => {
    const { browser, states, viewer } = await live([CREATED, INVALID])
    browser.peer.closeTransport()
    await browser.pass(500)
    expect(states).toEqual(['connecting', 'live', 'reconnecting: ended_by_server', 'ended: invalid_token'])
    expect(viewer.reason?.message).toBe('Unauthorized: Invalid token')
    expect(browser.requests('DELETE')[0]?.url).toBe('https://live.test/api/whep/resource/abc')
  })

  it('reports a connection that does not come up, and ends its session', async () => {
    const { browser, viewer } = viewing(undefined, { connectTimeoutMs: 4000 })
    const begun = viewer.start().catch((error: SluiceError) => error.code)
    await browser.pass(4000)
    expect(await begun).toBe('not_connected')
    expect(browser.requests('DELETE')).toHaveLength(1)
    expect(browser.peer.connectionState).toBe('closed')
    const again = viewer.start().catch((error: SluiceError) => error.code)
    await browser.pass(0)
    browser.peer.become('failed')
    expect(await again).toBe('not_connected')
  })

  it('returns with growing delays while the server does not answer', async () => {
    const { browser, states } = await live([CREATED, () => null])
    browser.peer.become('failed')
    await browser.pass(30_000)
    // 0.25, 0.5, 1, 2, 4 and then every 7.5 seconds.
    expect(browser.requests('POST')).toHaveLength(8)
    expect(states.slice(2)).toEqual(['reconnecting: connection_lost', 'reconnecting: no_answer'])
    browser.answers[0] = CREATED
    browser.changeNetwork()
    await browser.pass(0)
    expect(browser.requests('POST')).toHaveLength(9)
    browser.peer.become('connected')
    expect(states.at(-1)).toBe('reconnecting: no_answer')
    await browser.pass(0)
    expect(states.at(-1)).toBe('live')
  })

  it('can begin again from within the report of its end', async () => {
    const browser = new FakeBrowser([INVALID, CREATED])
    const viewer: WhepViewer = new WhepViewer({
      url: 'https://live.test/api/whep/acc/show',
      environment: browser,
      onState: (state) => void (state === 'ended' && viewer.start()),
    })
    await expect(viewer.start()).rejects.toMatchObject({ code: 'invalid_token' })
    await browser.pass(0)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(viewer.state).toBe('live')
  })

  it('says no goodbye for a publisher when the user leaves the page, which may be loaded again, but when it is stopped', async () => {
    for (const [end, goodbyes] of [
      [({ browser }: Awaited<ReturnType<typeof live>>) => browser.leave(), 0],
      [({ publisher }: Awaited<ReturnType<typeof live>>) => publisher.stop(), 1],
    ] as const) {
      const all = await live([CREATED], { publishes: true })
      await end(all)
      await all.browser.pass(0)
      expect([all.browser.peer.connectionState, all.publisher.state]).toEqual(['closed', 'ended'])
      expect(all.browser.requests('DELETE')).toHaveLength(goodbyes)
    }
  })

  it('ends its session when the user leaves the page, and can begin again', async () => {
    const { browser, viewer, states } = await live()
    browser.leave()
    await browser.pass(0)
    expect(browser.requests('DELETE')).toHaveLength(1)
    void viewer.start()
    await browser.pass(0)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(states.at(-1)).toBe('live')
  })
})

const RESTARTED = () => {
  const fragment = 'a=ice-lite\r\nm=video 9 X 0\r\na=mid:0\r\na=ice-ufrag:new\r\na=ice-pwd:new-secret\r\n'
  return new Response(fragment, { status: 200, headers: { ETag: '"two"' } })
}

describe('after a change of the network', () => {
  it('ICE is restarted with new credentials, in the same session', async () => {
    const { browser, states } = await live([CREATED, RESTARTED])
    browser.peer.become('disconnected')
    await browser.pass(0)
    expect(browser.sent[1]).toEqual({
      method: 'PATCH',
      url: 'https://live.test/api/whep/resource/abc',
      headers: { 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': '*' },
      body: 'a=ice-ufrag:our1\r\na=ice-pwd:secret1\r\n',
    })
    expect(browser.peer.remoteDescription?.sdp).toBe('v=0\r\na=ice-ufrag:new\r\na=ice-pwd:new-secret\r\n')
    browser.peer.become('connected')
    expect(states).toEqual(['connecting', 'live', 'reconnecting: connection_lost', 'live'])
    expect(browser.peers).toHaveLength(1)
  })

  it('the restart is repeated until the server answers and is not too busy, with the same offer', async () => {
    const { browser } = await live([CREATED, () => null, REFUSED(503, 'too busy'), RESTARTED])
    browser.changeNetwork()
    browser.changeNetwork()
    await browser.pass(3000)
    const bodies = browser.requests('PATCH').map(({ body }) => body)
    expect(bodies).toEqual(Array(3).fill('a=ice-ufrag:our1\r\na=ice-pwd:secret1\r\n'))
    await browser.pass(60_000)
    expect(browser.requests('PATCH')).toHaveLength(3)
  })

  it.each([
    ['answered', RESTARTED],
    ['lost', () => null],
  ])('a network that changes again during a restart that is then %s gets an offer of its own', async (_, answer) => {
    const answers: Answers = [CREATED, RESTARTED]
    const { browser } = await live(answers)
    answers.unshift(() => {
      browser.changeNetwork()
      return answer()
    })
    browser.changeNetwork()
    await browser.pass(60_000)
    const bodies = browser.requests('PATCH').map(({ body }) => body)
    expect(bodies).toEqual(['a=ice-ufrag:our1\r\na=ice-pwd:secret1\r\n', 'a=ice-ufrag:our2\r\na=ice-pwd:secret2\r\n'])
  })

  it('a session that is over at the server is replaced', async () => {
    const { browser, states } = await live([CREATED, REFUSED(404, 'Not found'), CREATED])
    browser.peer.become('disconnected')
    await browser.pass(1000)
    expect(browser.requests('POST')).toHaveLength(2)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(states.at(-1)).toBe('live')
    expect(browser.peers[0]?.connectionState).toBe('closed')
  })
})

describe('a publisher', () => {
  it('sends its tracks with the largest bitrate, or in three layers', async () => {
    const plain = await live(undefined, { publishes: true, maxBitrate: 900_000 })
    expect(plain.browser.peer.transceivers).toMatchObject([
      { kind: 'video', init: { direction: 'sendonly', sendEncodings: [{ maxBitrate: 900_000 }] } },
      { kind: 'audio', init: { direction: 'sendonly', sendEncodings: [] } },
    ])
    const layered = await live(undefined, { publishes: true, maxBitrate: 900_000, simulcast: true })
    expect(layered.browser.peer.transceivers[0]?.init.sendEncodings).toEqual([
      { rid: 'q', scaleResolutionDownBy: 4, maxBitrate: 100_000 },
      { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: 300_000 },
      { rid: 'f', maxBitrate: 900_000 },
    ])
  })

  it('prefers a codec, names it to the server, and says which one the browser cannot send', async () => {
    const codecs = ['video/VP8', 'video/rtx', 'video/H264', 'video/H264', 'video/AV1'].map((mimeType) => ({ mimeType }))
    vi.stubGlobal('RTCRtpSender', { getCapabilities: () => ({ codecs }) })
    const { browser } = await live(undefined, { publishes: true, codec: 'h264' })
    expect(browser.peer.transceivers[0]?.preferred).toEqual([codecs[2], codecs[3], codecs[1]])
    expect(browser.sent[0]?.url).toContain('?codec=h264')
    const { publisher, browser: other } = viewing(undefined, { codec: 'vp9' })
    const refused = publisher.start(camera())
    await expect(refused).rejects.toMatchObject({ code: 'cannot_send_codec', message: 'This browser cannot send VP9' })
    expect(other.sent).toEqual([])
    expect(other.peer.connectionState).toBe('closed')
  })

  it('returns after a lost connection, but not for longer than a minute, and not after a sleep', async () => {
    const { browser, states } = await live([CREATED, () => null], { publishes: true })
    browser.peer.become('failed')
    await browser.pass(90_000)
    expect(states.at(-1)).toBe('ended: no_answer')
    expect(browser.requests('POST').length).toBeGreaterThan(5)
    const asleep = await live([CREATED, CREATED], { publishes: true })
    await asleep.browser.pass(100)
    asleep.browser.timeMs += 3_600_000
    asleep.browser.peer.become('failed')
    await asleep.browser.pass(0)
    expect(asleep.states.at(-1)).toBe('ended: connection_lost')
  })

  it('ends when the server ends the broadcast, and at any refusal', async () => {
    const { browser, states } = await live([CREATED, CREATED], { publishes: true })
    browser.peer.closeTransport()
    await browser.pass(60_000)
    expect(states.at(-1)).toBe('ended: ended_by_server')
    expect(browser.requests('POST')).toHaveLength(1)
    const busy = viewing([REFUSED(503, 'Busy: …', '1')])
    await expect(busy.publisher.start(camera())).rejects.toMatchObject({ code: 'busy', retryAfterMs: 1000 })
  })

  it('trickles its candidates if asked, and none otherwise', async () => {
    const { browser } = await live([CREATED, () => new Response(null, { status: 204 })], { trickle: true })
    browser.peer.find('candidate:1 1 udp 1 192.0.2.1 5000 typ host')
    browser.peer.find(null)
    await browser.pass(50)
    expect(browser.sent[1]).toMatchObject({ method: 'PATCH', headers: { 'If-Match': '"one"' } })
    expect(browser.sent[1]?.body.split('\r\n')).toEqual([
      'a=ice-ufrag:our0',
      'a=ice-pwd:secret0',
      'm=video 9 UDP/TLS/RTP/SAVPF 0',
      'a=mid:0',
      'a=candidate:1 1 udp 1 192.0.2.1 5000 typ host',
      'a=end-of-candidates',
      '',
    ])
    const silent = await live()
    silent.browser.peer.find('candidate:1')
    await silent.browser.pass(1000)
    expect(silent.browser.sent).toHaveLength(1)
  })
})

describe('statistics', () => {
  const report = (seconds: number) => [
    { id: 'T', type: 'transport', selectedCandidatePairId: 'P' },
    { id: 'O', type: 'candidate-pair', nominated: true, currentRoundTripTime: 9 },
    { id: 'P', type: 'candidate-pair', nominated: true, currentRoundTripTime: 0.042 },
    { id: 'C', type: 'codec', mimeType: 'video/VP8' },
    { id: 'A', type: 'codec', mimeType: 'audio/opus' },
    {
      id: 'V',
      type: 'inbound-rtp',
      kind: 'video',
      codecId: 'C',
      timestamp: 1000 * seconds,
      frameWidth: 1280,
      frameHeight: 720,
      framesDecoded: 30 * seconds,
      bytesReceived: 100_000 * seconds,
      packetsReceived: 90 * seconds,
      packetsLost: 10 * seconds,
      framesDropped: seconds / 2,
      jitterBufferDelay: 1.5 * seconds,
      jitterBufferEmittedCount: 30 * seconds,
    },
    { id: 'S', type: 'inbound-rtp', kind: 'audio', codecId: 'A', timestamp: 1000 * seconds, bytesReceived: 0 },
  ]

  it('are rates since the last call', async () => {
    const { browser, viewer } = await live()
    browser.peer.report = report(10)
    await viewer.stats()
    browser.peer.report = report(12)
    expect(await viewer.stats()).toEqual({
      bitrate: 800_000,
      video: { width: 1280, height: 720, framesPerSecond: 30, codec: 'VP8' },
      audioCodec: 'opus',
      loss: 0.1,
      roundTripMs: 42,
      dropped: 6,
      bufferSeconds: 0.05,
      behindSeconds: expect.closeTo(0.071, 6) as number,
    })
    await viewer.stop()
    expect(await viewer.stats()).toBe(null)
  })
})

describe('the parts', () => {
  it('wait longer with each failure, and at least as long as the server asks', () => {
    const error = (code: 'busy' | 'stream_not_published', retryAfterMs = 0) =>
      new SluiceError(code, '', 503, retryAfterMs)
    const delays = (random: number) => [0, 1, 2, 9, 99].map((failures) => delayMs(failures, error('busy'), random))
    expect(delays(0)).toEqual([250, 500, 1000, 7500, 7500])
    expect(delays(1)).toEqual([500, 1000, 2000, 15_000, 15_000])
    expect(delayMs(0, error('busy', 4000), 0)).toBe(4000)
    expect(delayMs(99, error('stream_not_published', 2000), 1)).toBe(5000)
  })

  it('read the ICE servers of links', () => {
    const links = '<turn:a.test?transport=udp>; rel="ice-server"; username="u"; credential="p,q", <x>; rel="next"'
    expect(iceServersOf(links)).toEqual([{ urls: 'turn:a.test?transport=udp', username: 'u', credential: 'p,q' }])
  })

  it('read 16 ICE servers at most, whatever stands between them', () => {
    const link = '<<<stun:a.test>; rel="ice-server"'
    expect(iceServersOf(Array(100).fill(link).join(', '))).toEqual(
      Array.from({ length: 16 }, () => ({ urls: 'stun:a.test' })),
    )
  })

  it('take the ICE credentials of an answer as they are', () => {
    const answer = 'a=ice-ufrag:$&$`\r\na=ice-pwd:$1\r\n'
    expect(withCredentials('a=ice-ufrag:old\r\na=ice-pwd:old\r\n', answer)).toBe(answer)
  })

  it('are less than 8 kB altogether, compressed', async () => {
    const configFile = fileURLToPath(new URL('../../web/client/vite.config.ts', import.meta.url))
    const built = (await build({ configFile, logLevel: 'warn', build: { write: false } })) as Rollup.RollupOutput[]
    const code = built.flatMap(({ output }) => output.map((part) => ('code' in part ? part.code : ''))).join('')
    expect(code.length).toBeGreaterThan(5000)
    expect(gzipSync(code).length).toBeLessThan(8000)
  })

  it('are a package entry with types', async () => {
    const entry = import.meta.resolve('sluice/client')
    expect(entry).toMatch(/\/dist\/client\/index\.js$/)
    expect(Object.keys(await import(entry)).toSorted()).toEqual([
      'SluiceError',
      'WhepViewer',
      'WhipPublisher',
      'refusalOf',
      'sendableCodecs',
    ])
  })
})
