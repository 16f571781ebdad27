import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { delayMs } from '../../web/client/backoff.ts'
import { SluiceError } from '../../web/client/index.ts'
import type { Wanted } from '../../web/player/address.ts'
import { Controller } from '../../web/player/controller.ts'
import { type Answers, CREATED, FakeBrowser, FakeMedia, REFUSED } from './fakes.ts'

beforeEach(() => void vi.stubGlobal('MediaStream', FakeMedia))
afterEach(() => void vi.unstubAllGlobals())

const NOT_LIVE = REFUSED(409, 'Stream not being published', '2')
/** The same over HLS. */
const NOT_THERE = REFUSED(404, 'Stream not being published', '2')
const PLAYLIST = () => new Response('#EXTM3U')

/** A video element without Media Source Extensions: it plays HLS by itself. */
class FakeVideo extends EventTarget {
  srcObject: unknown = null
  src = ''
  videoWidth = 0
  videoHeight = 0
  getVideoPlaybackQuality = () => ({ totalVideoFrames: 0, droppedVideoFrames: 0 })
  error = null
  load() {}
  removeAttribute() {
    this.src = ''
  }
  fires = (event: string) => this.dispatchEvent(new Event(event))
}

const STREAM: Wanted = {
  server: 'https://live.test/',
  stream: 'acc/my%20show',
  playlist: '',
  token: 'abc',
  sourceId: 'left',
  mode: 'auto',
  reports: true,
}

function playing(answers: Answers, wanted: Partial<Wanted> = {}) {
  const browser = new FakeBrowser(answers)
  const video = new FakeVideo()
  const states: string[] = []
  const controller = new Controller(video as unknown as HTMLVideoElement, browser, {
    onState: (state, reason) => void states.push(reason === null ? state : `${state}: ${reason.code}`),
    onMedia: () => undefined,
    onLevels: () => undefined,
  })
  controller.start({ ...STREAM, ...wanted })
  return { browser, video, states, controller }
}

describe('a player', () => {
  it('takes WHEP, and HLS when no media connection comes up within 5 seconds', async () => {
    const { browser, video, states, controller } = playing([CREATED, PLAYLIST])
    await browser.pass(4999)
    expect(controller.delivery).toBe('whep')
    expect(browser.sent[0]?.url).toBe('https://live.test/api/whep/acc/my%20show?sourceId=left')
    await browser.pass(1)
    expect(controller.delivery).toBe('hls')
    expect(browser.requests('DELETE')).toHaveLength(1)
    expect(browser.requests('GET')[0]).toMatchObject({
      url: 'https://live.test/hls/acc/my%20show/index.m3u8?sourceId=left',
      headers: { Authorization: 'Bearer abc' },
    })
    await browser.pass(0)
    expect(video.src).toBe('https://live.test/hls/acc/my%20show/index.m3u8?sourceId=left&auth=abc')
    video.fires('playing')
    expect(states).toEqual(['connecting', 'playing'])
  })

  it('takes HLS as well when the browser decodes no codec of the stream, unless only WHEP is wanted', async () => {
    const unsupported = REFUSED(406, 'The codec is not supported')
    const automatic = playing([unsupported, PLAYLIST])
    await automatic.browser.pass(0)
    expect(automatic.controller.delivery).toBe('hls')
    const strict = playing([unsupported], { mode: 'whep' })
    await strict.browser.pass(0)
    expect(strict.states.at(-1)).toBe('refused: codec_not_supported')
    expect(strict.controller.reason?.message).toBe('The codec is not supported')
  })

  it('does not try HLS after a refusal of the token', async () => {
    const { browser, states } = playing([REFUSED(401, 'Unauthorized: Token expired')])
    await browser.pass(60_000)
    expect(states).toEqual(['connecting', 'refused: token_expired'])
    expect(browser.sent).toHaveLength(1)
  })

  it('takes HLS when the network blocks WebRTC after an interruption', async () => {
    const { browser, controller } = playing([CREATED, CREATED, PLAYLIST])
    await browser.pass(0)
    browser.peer.become('connected')
    await browser.pass(0)
    expect(controller.state).toBe('playing')
    browser.peer.become('failed')
    await browser.pass(6000)
    expect(controller.delivery).toBe('hls')
  })

  it('shows when no media arrives although the connection is up, and when it comes again', async () => {
    const { browser, controller, states } = playing([CREATED])
    await browser.pass(0)
    const peer = browser.peer
    peer.become('connected')
    let bytes = 0
    const send = () =>
      (peer.report = [{ type: 'inbound-rtp', kind: 'video', timestamp: browser.now(), bytesReceived: bytes }])
    const pass = async (arriving: number) => {
      bytes += arriving
      browser.timeMs += 1
      send()
      await browser.pass(2000)
    }
    for (const arriving of [1000, 1000, 1000]) await pass(arriving)
    expect(controller.state).toBe('playing')
    for (const arriving of [0, 0, 0]) await pass(arriving)
    expect(controller.state).toBe('interrupted')
    for (const arriving of [1000, 1000]) await pass(arriving)
    expect(states).toEqual(['connecting', 'playing', 'interrupted', 'playing'])
    expect(await controller.figures()).toMatchObject({ behindSeconds: null })
  })

  it('calls a stream without a publisher waiting before its first broadcast, and ended after it', async () => {
    const { browser, states } = playing([NOT_LIVE, CREATED, NOT_LIVE])
    await browser.pass(3000)
    browser.peer.become('connected')
    await browser.pass(0)
    browser.peer.closeTransport()
    await browser.pass(2000)
    expect(states).toEqual([
      'connecting',
      'waiting: stream_not_published',
      'playing',
      'interrupted: ended_by_server',
      'ended: stream_not_published',
    ])
  })

  it('calls a broadcast ended at once when its publisher has said goodbye, and else if it is not back in time', async () => {
    const interrupted = 'interrupted: stream_not_published'
    const ended = 'ended: stream_not_published'
    for (const [returnsIn, awayMs, then] of [
      ['0', 0, [ended]],
      ['5', 4000, [interrupted, 'playing']],
      ['5', 5000, [interrupted, ended]],
    ] as const) {
      const { browser, states } = playing([CREATED, REFUSED(409, 'Stream not being published', returnsIn)])
      await browser.pass(0)
      browser.peer.become('connected')
      const send = (bytesReceived: number) => (browser.peer.report = [{ type: 'inbound-rtp', bytesReceived }])
      send(1000)
      await browser.pass(0)
      while (states.at(-1) === 'playing') await browser.pass(100)
      await browser.pass(awayMs)
      if (then.at(-1) === 'playing') send(2000)
      await browser.pass(500)
      expect(states).toEqual(['connecting', 'playing', ...then])
    }
  })
})

describe('over HLS a player', () => {
  it('waits for the publisher, follows its end, and begins again', async () => {
    const { browser, video, states } = playing([NOT_THERE, PLAYLIST, NOT_THERE, PLAYLIST], { mode: 'hls' })
    await browser.pass(2000)
    video.fires('playing')
    video.fires('ended')
    expect(video.src).not.toBe('')
    await browser.pass(1000)
    expect(video.src).toBe('')
    await browser.pass(3000)
    video.fires('playing')
    expect(states).toEqual([
      'connecting',
      'waiting: stream_not_published',
      'playing',
      'ended: stream_not_published',
      'playing',
    ])
  })

  it('gets the reason of a refusal, and gives up when the video fails three times', async () => {
    const refused = playing([REFUSED(401, 'Unauthorized: Origin not allowed')], { mode: 'hls' })
    await refused.browser.pass(0)
    expect(refused.states.at(-1)).toBe('refused: origin_not_allowed')
    const broken = playing([PLAYLIST], { mode: 'hls' })
    for (let times = 0; times < 3; times++) {
      await broken.browser.pass(3000)
      broken.video.fires('error')
    }
    await broken.browser.pass(0)
    expect(broken.states.at(-1)).toBe('refused: unexpected_answer')
  })

  it('asks again when the server does not answer, at once after a network change, and never after its end', async () => {
    const { browser, controller, states } = playing([() => null], { mode: 'hls' })
    await browser.pass(40_000)
    const before = browser.sent.length
    browser.changeNetwork()
    await browser.pass(0)
    expect(browser.sent).toHaveLength(before + 1)
    expect(states).toEqual(['connecting', 'connecting: no_answer'])
    controller.stop()
    expect(browser.listeners).toBe(0)
    await browser.pass(60_000)
    expect(browser.sent).toHaveLength(before + 1)
    expect(delayMs(9, new SluiceError('no_answer', ''), 0)).toBe(7500)
  })

  it('loads the playlist of a channel from its own address', async () => {
    vi.stubGlobal('document', { baseURI: 'https://site.test/page' })
    const { browser, controller } = playing([PLAYLIST], { stream: null, playlist: 'https://live.test/main.m3u8' })
    await browser.pass(0)
    expect(controller.delivery).toBe('hls')
    expect(browser.sent[0]?.url).toBe('https://live.test/main.m3u8')
  })

  it('that has stopped hears nothing of what it played', async () => {
    const { browser, video, states, controller } = playing([PLAYLIST], { mode: 'hls' })
    await browser.pass(0)
    controller.stop()
    await browser.pass(0)
    video.fires('playing')
    expect(states).toEqual(['connecting', 'idle'])
    expect(video.src).toBe('')
  })
})
