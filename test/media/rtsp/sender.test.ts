import { expect, onTestFinished, describe, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import type { TrackInfo } from '../../../src/media/frame.ts'
import { parseRtcp } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { parseRtp } from '../../../src/media/relay/wire/rtp.ts'
import { RtspTarget, type RtspTargetOptions } from '../../support/rtspTarget.ts'
import { until } from '../../support/until.ts'
import { AAC_CONFIG, audioAt, AVC_CONFIG, videoAt } from '../rtmp/media.ts'
import { send } from './sending.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 320, height: 240, config: AVC_CONFIG }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2, config: AAC_CONFIG }

async function target(options: RtspTargetOptions = {}): Promise<RtspTarget> {
  const place = await RtspTarget.start(options)
  onTestFinished(() => place.stop())
  return place
}

/** The packets of a channel, parsed. */
const packetsOf = (place: RtspTarget, channel: number) =>
  (place.packets.get(channel) ?? []).map((packet) => {
    const header = parseRtp(packet)
    if (header === null) throw new Error('no RTP')
    return { ...header, payload: packet.subarray(header.payloadStart) }
  })

/** Looks at it each second, as the server does. */
function watch(sender: { tick(nowMs: number): void }, clock: ManualClock, seconds: number): void {
  for (let second = 0; second < seconds; second += 1) {
    clock.advance(1000)
    sender.tick(clock.monotonic())
  }
}

describe('a sender', () => {
  test('announces the tracks, then sends each frame from the first one on, and says goodbye', async () => {
    const place = await target()
    const { hub, told, sender, ends } = await send(place.port)
    hub.tracks([VIDEO, AUDIO])
    hub.frame(videoAt(5_000_000, { key: true, bytes: 20_000, delayUs: 80_000 }))
    hub.frame(audioAt(5_010_000))
    await until(() => told.isAccepted)
    hub.frame(videoAt(5_040_000, { delayUs: 40_000 }))
    hub.end()
    await until(() => place.connections === 0)
    expect(place.methods).toEqual(['OPTIONS', 'ANNOUNCE', 'SETUP', 'SETUP', 'RECORD', 'TEARDOWN'])
    expect(place.requests.map(({ headers }) => headers.get('cseq'))).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(place.sdp).toMatch(
      /m=video 0 RTP\/AVP 96\r\na=rtpmap:96 H264\/90000\r\na=fmtp:96 packetization-mode=1; sprop/,
    )
    expect(place.sdp).toContain('a=rtpmap:97 MPEG4-GENERIC/44100/2\r\n')
    const video = packetsOf(place, 4)
    expect(video.filter(({ marker }) => marker).map(({ timestamp }) => timestamp)).toEqual([97_200, 97_200])
    expect(video.map(({ sequence }) => sequence)).toEqual(video.map((_, at) => at))
    expect(packetsOf(place, 6).map(({ timestamp, payload }) => [timestamp, payload.length])).toEqual([[44_541, 54]])
    expect(ends).toEqual([])
    expect(sender.bytes.bytesOut).toBeGreaterThan(20_000)
    const reports = (place.packets.get(5) ?? []).map((one) => parseRtcp(one)?.map(({ kind }) => kind))
    expect(reports).toEqual([['sr', 'sdes']])
  })

  test.each([
    { scheme: 'Basic' },
    { scheme: 'Digest' },
    { scheme: 'Digest', qop: 'auth' },
    { scheme: 'Digest', qop: 'auth', algorithm: 'SHA-256' },
  ] as const)('logs in by $scheme $qop $algorithm, and never without being asked to', async (login) => {
    const place = await target({ login: { user: 'cam:era', password: 'p@ss:w"rd', ...login } })
    const { hub, told } = await send(place.port, { login: 'cam%3Aera:p%40ss%3Aw%22rd@' })
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    await until(() => told.isAccepted)
    expect(place.methods).toEqual(['OPTIONS', 'ANNOUNCE', 'ANNOUNCE', 'SETUP', 'RECORD'])
    expect(place.requests.map(({ headers }) => headers.has('authorization'))).toEqual([false, false, true, true, true])
    expect(place.requests.map(({ uri }) => uri).join(' ')).not.toContain('p%40ss')
  })

  test.each([
    ['a wrong password', 'user:wrong@', 'The target refuses the user or the password'],
    ['no login', '', 'The target wants a user and a password'],
  ])('that has %s is refused', async (_what, login, message) => {
    const place = await target({ login: { user: 'user', password: 'right', scheme: 'Digest' } })
    const { hub, ends } = await send(place.port, { login })
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    expect(await until(() => ends[0])).toMatchObject({ kind: 'refused', message, isInUse: false })
  })

  test.each([
    ['ANNOUNCE', '302 Moved', 'refused', 'redirects'],
    ['ANNOUNCE', '403 Forbidden', 'refused', '403'],
    ['ANNOUNCE', '404 Not Found', 'lost', '404 Not Found'],
    ['ANNOUNCE', '415 Unsupported Media Type', 'unsuitable', 'none of these codecs'],
    ['SETUP', '461 Unsupported Transport', 'unsuitable', 'over the connection'],
    ['SETUP', '200 OK\r\nTransport: RTP/AVP;unicast;server_port=1-2', 'unsuitable', 'over the connection'],
    ['RECORD', '500 Internal Server Error', 'lost', '500 Internal Server Error'],
  ])('whose %s is answered %s says so', async (method, status, kind, words) => {
    const place = await target({
      answer: (one) => (one === method ? `RTSP/1.0 ${status}\r\nCSeq: CSEQ\r\n\r\n` : undefined),
    })
    const { hub, ends, told } = await send(place.port)
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    expect(await until(() => ends[0])).toMatchObject({ kind, message: expect.stringContaining(words) as string })
    expect(told.isAccepted).toBe(false)
  })

  test('reads no more of a server that floods with answers until the next tick', async () => {
    const place = await target({ answer: () => 'RTSP/1.0 200 OK\r\nCSeq: CSEQ\r\n\r\n'.repeat(101) })
    const { sender, socket, ends } = await send(place.port)
    await until(() => socket.isPaused())
    sender.tick(systemClock.monotonic())
    expect([socket.isPaused(), ends]).toEqual([false, []])
  })

  test('gives up a server that speaks something else, that says nothing, and that finds each login too old', async () => {
    const web = await target({ answer: () => 'HTTP/1.1 400 Bad Request\r\n\r\n' })
    const foreign = await send(web.port)
    expect(await until(() => foreign.ends[0])).toMatchObject({
      kind: 'lost',
      message: 'The target does not speak RTSP',
    })
    const clock = new ManualClock()
    const mute = await send((await target({ answer: () => '' })).port, { clock })
    watch(mute.sender, clock, 9)
    expect(mute.ends).toMatchObject([])
    watch(mute.sender, clock, 1)
    expect(mute.ends).toMatchObject([{ kind: 'lost', message: 'The target did not answer in time' }])
    const stale = await target({
      answer: () =>
        'RTSP/1.0 401 No\r\nCSeq: CSEQ\r\nWWW-Authenticate: Digest realm="r", nonce="n", stale=true\r\n\r\n',
    })
    const { ends } = await send(stale.port, { login: 'user:word@' })
    expect((await until(() => ends[0])).kind).toBe('refused')
  })

  test('goes on with other parameter sets, and is lost with other tracks, which a session cannot have', async () => {
    const place = await target()
    const { hub, told, ends } = await send(place.port)
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    await until(() => told.isAccepted)
    hub.tracks([{ ...VIDEO, width: 640 }])
    hub.frame(videoAt(40_000, { key: true }))
    await until(() => packetsOf(place, 4).filter(({ marker }) => marker).length === 2)
    expect(ends).toEqual([])
    hub.tracks([VIDEO, AUDIO])
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The broadcast has other tracks than before' }])
  })

  test('keeps the session at half of its time', async () => {
    const place = await target()
    const clock = new ManualClock()
    const { hub, told, sender } = await send(place.port, { clock })
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    await until(() => told.isAccepted)
    sender.tick(clock.monotonic() + 3999)
    sender.tick(clock.monotonic() + 4000)
    await until(() => place.methods.at(-1) === 'OPTIONS')
    expect(place.requests.at(-1)?.headers.get('session')).toBe('77')
    expect(place.methods.filter((one) => one === 'OPTIONS')).toHaveLength(2)
  })

  test('keeps the session of a server that answers no such request, as of one whose login gets old each time', async () => {
    const old = 'RTSP/1.0 401 No\r\nCSeq: CSEQ\r\nWWW-Authenticate: Digest realm="r", nonce="n", stale=true\r\n\r\n'
    const kept = async (login: string, more: RtspTargetOptions, each: number): Promise<void> => {
      const place = await target(more)
      const clock = new ManualClock()
      const { hub, told, sender, ends } = await send(place.port, { clock, login })
      const asked = (): number => place.methods.filter((one) => one === 'OPTIONS').length
      hub.tracks([VIDEO])
      hub.frame(videoAt(0, { key: true }))
      await until(() => told.isAccepted)
      for (let times = 1; times <= 5; times += 1) {
        watch(sender, clock, 4)
        await until(() => asked() === 1 + times * each)
      }
      expect(ends).toEqual([])
    }
    await kept('', { answer: (method, times) => (method === 'OPTIONS' && times > 1 ? '' : undefined) }, 1)
    const login = { user: 'user', password: 'word', scheme: 'Digest' } as const
    const isOld = (method: string, times: number): boolean => method === 'OPTIONS' && times % 2 === 0
    await kept('user:word@', { login, answer: (...request) => (isOld(...request) ? old : undefined) }, 2)
  })

  test('to a target that does not read holds two seconds at most, and gives it up after ten', async () => {
    const place = await target()
    const clock = new ManualClock()
    const { hub, told, sender, ends } = await send(place.port, { clock })
    hub.tracks([VIDEO])
    hub.frame(videoAt(0, { key: true }))
    await until(() => told.isAccepted)
    place.pause()
    for (let at = 1; at < 1000; at++) hub.frame(videoAt(at * 40_000, { key: at % 25 === 0, bytes: 100_000 }))
    expect(sender.dropped).toBeGreaterThan(800)
    expect(sender.waitingBytes).toBeLessThan(10_000_000)
    watch(sender, clock, 10)
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target does not read what it is sent' }])
  })
})
