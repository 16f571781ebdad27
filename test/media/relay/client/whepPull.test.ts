import { once } from 'node:events'
import { createSocket } from 'node:dgram'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MediaStreamTrack, RTCPeerConnection, RtpHeader, RtpPacket, useAudioLevelIndication, useOPUS } from 'werift'
import { systemClock } from '../../../../src/base/clock.ts'
import { systemRandom } from '../../../../src/base/random.ts'
import { err, ok } from '../../../../src/base/result.ts'
import type { Frame, TrackInfo } from '../../../../src/media/frame.ts'
import { WhepPull, type WhepPullOptions } from '../../../../src/media/relay/client/whepPull.ts'
import { Viewer } from '../../../../src/media/relay/outbound/viewer.ts'
import { bindingRequest } from '../../../../src/media/relay/wire/stun.ts'
import type { PullProblem } from '../../../../src/media/pulling.ts'
import { FastClock } from '../../../support/fastClock.ts'
import { lossyLink } from '../../../support/lossyUdp.ts'
import { silentLog } from '../../../support/log.ts'
import { answerOf, LOOPBACK, TestPublisher } from '../../../support/rtcPeer.ts'
import { RelayServer } from '../../../support/relayServer.ts'
import { until } from '../../../support/until.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'vp8', width: 640, height: 480, config: new Uint8Array(0) }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }
const FRAME_MS = 20
/** RFC 6386 section 9.1, with more bytes than a packet has. */
const KEYFRAME = Buffer.concat([Buffer.from([0x10, 2, 0, 0x9d, 1, 0x2a, 0x80, 2, 0xe0, 1]), Buffer.alloc(3000, 7)])

/** Another server with a stream; each picture but the first ends with its number. */
async function server(tracks: readonly TrackInfo[] = [VIDEO, AUDIO]) {
  const far = await RelayServer.start()
  const feed = far.feed(tracks)
  let number = 0
  const send = (): void => {
    const at = { timeUs: number * FRAME_MS * 1000, decodeTimeUs: number * FRAME_MS * 1000 }
    const data = number === 0 ? KEYFRAME : Buffer.from([0x11, 2, 0, number >> 8, number & 255])
    if (tracks.includes(VIDEO)) feed.frame({ kind: 'video', key: number === 0, data, ...at })
    feed.frame({ kind: 'audio', key: true, data: Buffer.from([0xf8, number & 255]), ...at })
    number += 1
  }
  let sending: NodeJS.Timeout | null = null
  onTestFinished(async () => {
    if (sending !== null) clearInterval(sending)
    await far.stop()
  })
  return { far, play: () => void (sending ??= setInterval(send, FRAME_MS)) }
}

/** Pulls from it. `answered` changes its answer. */
function pullFrom(
  far: RelayServer,
  {
    answered = (sdp: string): string => sdp,
    ...over
  }: Partial<WhepPullOptions> & { answered?: (sdp: string) => string } = {},
) {
  const problems: PullProblem[] = []
  const frames: Frame[] = []
  const tracks: (readonly TrackInfo[])[] = []
  const state = { left: 0 }
  const pull = new WhepPull({
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    localAddress: '127.0.0.1',
    allows: () => true,
    maxBitrate: 8_000_000,
    sink: {
      tracks: (all) => void tracks.push(all),
      frame: (frame) => void frames.push({ ...frame, data: Buffer.from(frame.data) }),
      end: () => undefined,
    },
    openSession: async (offer) => {
      const answer = far.view(offer)
      if (!answer.ok) return err({ kind: 'lost', message: answer.problem })
      return ok({ answer: answered(answer.answer), leave: () => void (state.left += 1) })
    },
    ended: (problem) => void problems.push(problem),
    ...over,
  })
  onTestFinished(() => pull.end())
  return { pull, problems, frames, tracks, state }
}

describe('a stream of another server', () => {
  test('arrives frame by frame, and its session ends with the pull', async () => {
    const { far, play } = await server()
    const { pull, frames, tracks, state, problems } = pullFrom(far)
    await pull.start()
    play()
    await until(() => frames.length > 30)
    expect(tracks.at(-1)).toMatchObject([{ kind: 'video', codec: 'vp8', width: 640, height: 480 }, AUDIO])
    const video = frames.filter(({ kind }) => kind === 'video')
    expect(video[0]).toMatchObject({ key: true, data: KEYFRAME })
    expect(video.slice(1, 10).map(({ data }) => data.at(-1))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(pull.bytesIn).toBeGreaterThan(KEYFRAME.length)
    expect(pull.link).toMatchObject({ lost: 0 })
    pull.end()
    await until(() => far.endOf('viewer') === 'left')
    expect([state.left, problems]).toEqual([1, []])
    const { length } = frames
    pull.end()
    expect([state.left, frames.length]).toEqual([1, length])
  })

  test('of sound alone arrives too', async () => {
    const { far, play } = await server([AUDIO])
    const { pull, frames, tracks } = pullFrom(far)
    await pull.start()
    play()
    await until(() => frames.length > 5)
    expect(tracks).toEqual([[AUDIO]])
  })

  test('of another implementation with full ICE arrives', async () => {
    const { far } = await server()
    const publisher = new TestPublisher('vp8', LOOPBACK)
    onTestFinished(() => publisher.close())
    const { pull, frames, tracks, problems } = pullFrom(far, {
      allows: (address) => address === '127.0.0.1',
      openSession: async (offer) => ok({ answer: await publisher.answer(offer), leave: () => undefined }),
    })
    await pull.start()
    publisher.play()
    await until(() => frames.length > 5 || problems.length > 0)
    expect(problems).toEqual([])
    expect(tracks[0]).toMatchObject([{ kind: 'video', codec: 'vp8' }])
  })

  test('says how loud it is, if its server passes that on', async () => {
    const { far } = await server()
    const codecs = { audio: [useOPUS()], video: [] }
    const headerExtensions = { audio: [useAudioLevelIndication()], video: [] }
    const peer = new RTCPeerConnection({
      ...LOOPBACK,
      codecs,
      headerExtensions,
      iceServers: [],
      bundlePolicy: 'max-bundle',
    })
    const track = new MediaStreamTrack({ kind: 'audio' })
    peer.addTransceiver(track, { direction: 'sendonly' })
    onTestFinished(() => peer.close())
    // Its figures are of seconds.
    const clock = new FastClock(8)
    onTestFinished(() => clock.close())
    const { pull } = pullFrom(far, {
      clock,
      openSession: async (offer) => ok({ answer: await answerOf(peer, offer), leave: () => undefined }),
    })
    await pull.start()
    let sequenceNumber = 0
    const sending = setInterval(() => {
      // The id of our offer.
      const extensions = [{ id: 3, payload: Buffer.from([0x80 | 12]) }]
      const header = new RtpHeader({
        sequenceNumber,
        timestamp: sequenceNumber * 960,
        ssrc: 1,
        extension: true,
        extensions,
      })
      track.writeRtp(new RtpPacket(header, Buffer.from([0xf8, 1])))
      sequenceNumber += 1
    }, FRAME_MS)
    onTestFinished(() => clearInterval(sending))
    await until(() => pull.link?.levels?.audioLevelDb !== undefined)
    expect(pull.link?.levels).toEqual({ audioLevelDb: -12, clippedAudio: 0 })
  })

  test('is asked for a keyframe, as often as packagers need one, and learns the bandwidth', async () => {
    const kinds = vi.spyOn(Viewer.prototype, 'rtcp')
    onTestFinished(() => kinds.mockRestore())
    const clock = new FastClock(8)
    onTestFinished(() => clock.close())
    const { far, play } = await server()
    const { pull } = pullFrom(far, { clock })
    await pull.start()
    play()
    const sent = (kind: string) => kinds.mock.calls.flatMap(([packets]) => packets.filter((one) => one.kind === kind))
    await until(() => sent('pli').length > 3 && sent('remb').length > 0)
  })

  test('is asked again for the packets that get lost, so that each frame arrives', async () => {
    const kinds = vi.spyOn(Viewer.prototype, 'rtcp')
    onTestFinished(() => kinds.mockRestore())
    const { far, play } = await server()
    const link = await lossyLink(far.port, 7)
    onTestFinished(() => link.close())
    const answered = (sdp: string) => sdp.replaceAll(`127.0.0.1 ${far.port} typ`, `127.0.0.1 ${link.port} typ`)
    const { pull, frames } = pullFrom(far, { answered })
    await pull.start()
    play()
    await until(() => frames.length > 0)
    link.lose(0.1)
    const asked = () => kinds.mock.calls.flatMap(([packets]) => packets.filter(({ kind }) => kind === 'nack'))
    await until(() => asked().length > 5)
    link.lose(0)
    const video = () => frames.filter(({ kind }) => kind === 'video').slice(1)
    const sent = video().length + 20
    await until(() => video().length > sent)
    expect(video().map(({ data }) => Buffer.from(data).readUInt16BE(3))).toEqual(video().map((_, at) => at + 1))
  })

  test('that ends there is lost', async () => {
    const { far, play } = await server()
    const { pull, frames, problems, state } = pullFrom(far)
    await pull.start()
    play()
    await until(() => frames.length > 0)
    far.relay.end('viewer')
    await until(() => problems.length > 0)
    expect(problems).toMatchObject([{ kind: 'lost', message: 'The source has ended the session' }])
    expect(state.left).toBe(1)
  })

  test('that sends nothing is lost after ten looks, also if it never connects', async () => {
    const { far } = await server()
    const silent = pullFrom(far)
    await silent.pull.start()
    await until(() => far.events.some((event) => event.kind === 'connected' && event.sessionId === 'viewer'))
    for (let looks = 0; looks <= 10; looks++) silent.pull.tick()
    expect(silent.problems.map(({ message }) => message)).toEqual([expect.stringMatching(/no media for 10 s|in time/)])
    const deaf = pullFrom(far, { answered: (sdp) => sdp.replaceAll(`127.0.0.1 ${far.port} typ`, `127.0.0.1 9 typ`) })
    await deaf.pull.start()
    for (let looks = 0; looks <= 10; looks++) deaf.pull.tick()
    expect(deaf.problems).toMatchObject([{ kind: 'lost', message: 'The source did not answer in time' }])
  })
})

describe('an answer', () => {
  test('leads media to allowed addresses alone, and what comes from others is dropped', async () => {
    const { far, play } = await server()
    const inside = createSocket('udp4').bind(0, '127.0.0.2')
    await once(inside, 'listening')
    onTestFinished(() => void inside.close())
    const visits: unknown[] = []
    inside.on('message', (datagram) => visits.push(datagram))
    const more = `a=candidate:9 1 udp 4294967295 127.0.0.2 ${inside.address().port} typ host\r\na=end-of-candidates`
    let own = ''
    const { pull, frames } = pullFrom(far, {
      allows: (address) => address === '127.0.0.1',
      openSession: async (offer) => {
        own = offer
        const answer = far.view(offer)
        if (!answer.ok) return err({ kind: 'lost', message: answer.problem })
        return ok({ answer: answer.answer.replace('a=end-of-candidates', more), leave: () => undefined })
      },
    })
    await pull.start()
    play()
    await until(() => frames.length > 0)
    const of = (pattern: RegExp) => pattern.exec(own)?.[1] ?? ''
    const [port, username, password] = [Number(of(/127\.0\.0\.1 (\d+) typ/)), of(/ufrag:(\S+)/), of(/pwd:(\S+)/)]
    inside.send(
      bindingRequest({ transactionId: Buffer.alloc(12, 1), username: `${username}:x`, password }),
      port,
      '127.0.0.1',
    )
    const before = frames.length
    await until(() => frames.length > before + 10)
    expect([port > 0, visits]).toEqual([true, []])
  })

  test('without an allowed address makes it send nothing at all', async () => {
    const { far } = await server()
    const asked: [string, number][] = []
    const { pull, problems, state } = pullFrom(far, { allows: (...at) => !asked.push(at) })
    await pull.start()
    expect(problems).toMatchObject([
      {
        kind: 'lost',
        message: 'The answer of the source cannot be used: it leads media to addresses that are not allowed: 127.0.0.1',
      },
    ])
    expect([asked, state.left, far.received]).toEqual([[['127.0.0.1', far.port]], 1, 0])
  })

  test('names three of the addresses that are not allowed, each once, and how many more there are', async () => {
    const { far } = await server()
    const at = (line: string) => [2, 3, 4, 5, 5].map((last) => line.replace('127.0.0.1', `192.0.2.${last}`))
    const answered = (answer: string) => answer.replaceAll(/a=candidate.*\r\n/g, (line) => at(line).join(''))
    const { pull, problems } = pullFrom(far, { answered, allows: () => false })
    await pull.start()
    expect(problems[0]?.message).toMatch(
      /: it leads .* not allowed: 192\.0\.2\.2, 192\.0\.2\.3, 192\.0\.2\.4 and 1 more$/,
    )
  })

  const from = (pattern: RegExp, text: string) => (sdp: string) => sdp.replaceAll(pattern, text)
  test.each([
    ['that is none', () => '<html>', 'The body is not SDP: it does not begin with v=0.'],
    ['without media', from(/\r\nm=[^]*/g, '\r\n'), 'it has no media: there is no m-line in it.'],
    [
      'with names alone',
      from(/udp (\d+) \S+ /g, 'udp $1 inside.example.com '),
      'it names no address for media over UDP',
    ],
    ['without candidates', from(/a=candidate.*\r\n/g, ''), 'it names no address for media over UDP'],
    [
      'without a fingerprint',
      from(/a=fingerprint.*\r\n/g, ''),
      'it has no a=fingerprint; the session or m-line 1 needs one of sha-256, sha-384 or sha-512.',
    ],
    [
      'that sends nothing',
      from(/a=sendonly/g, 'a=inactive'),
      'it sends nothing: no audio or video of it is sendonly or sendrecv.',
    ],
  ])('%s cannot be used', async (_, answered, why) => {
    const { far } = await server()
    const { pull, problems, state } = pullFrom(far, { answered })
    await pull.start()
    expect(problems).toMatchObject([{ kind: 'lost', message: `The answer of the source cannot be used: ${why}` }])
    expect(state.left).toBe(1)
  })

  test('of another certificate than the one of the connection ends it', async () => {
    const { far } = await server()
    const { pull, problems } = pullFrom(far, { answered: from(/(sha-256 )\S{5}/g, '$100:00') })
    await pull.start()
    await until(() => problems.length > 0)
    expect(problems[0]?.message).toContain('did not prove')
  })
})

test('what the server says is the problem, and nothing is left open', async () => {
  const { far } = await server()
  const refused = { kind: 'refused', message: 'The source refuses the login (401)' } as const
  const { pull, problems, state } = pullFrom(far, { openSession: async () => err(refused) })
  await pull.start()
  expect([problems, state.left, far.received]).toEqual([[refused], 0, 0])
})

test('a pull that ends while it asks leaves the session that it gets', async () => {
  const { far } = await server()
  const [asked, asking] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let left = 0
  const { pull, problems } = pullFrom(far, {
    openSession: async (offer) => {
      asked.resolve()
      await asking.promise
      const answer = far.view(offer)
      return answer.ok
        ? ok({ answer: answer.answer, leave: () => void (left += 1) })
        : err({ kind: 'lost', message: '' })
    },
  })
  const started = pull.start()
  await asked.promise
  pull.end()
  asking.resolve()
  await started
  expect([left, problems, far.received]).toEqual([1, [], 0])
})

test('a fault of ours ends this pull alone', async () => {
  const { far, play } = await server()
  const sink = {
    tracks: () => {
      throw new Error('broken')
    },
    frame: () => undefined,
    end: () => undefined,
  }
  const errors: unknown[] = []
  const broken = pullFrom(far, { sink, log: { ...silentLog, error: (fields) => void errors.push(fields) } })
  await broken.pull.start()
  play()
  await until(() => broken.problems.length > 0)
  expect(errors).toHaveLength(1)
  expect(broken.problems).toMatchObject([{ kind: 'lost', message: 'Sluice failed; its log says more' }])
})
