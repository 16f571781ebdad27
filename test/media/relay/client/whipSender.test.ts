import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../../src/base/clock.ts'
import { systemRandom } from '../../../../src/base/random.ts'
import { err, ok } from '../../../../src/base/result.ts'
import type { Frame, TrackInfo } from '../../../../src/media/frame.ts'
import { WhipSender, type WhipSenderOptions } from '../../../../src/media/relay/client/whipSender.ts'
import type { SenderEnd } from '../../../../src/media/publishing.ts'
import { silentLog } from '../../../support/log.ts'
import { LOOPBACK, TestViewer } from '../../../support/rtcPeer.ts'
import { RelayServer, ROOM } from '../../../support/relayServer.ts'
import { until } from '../../../support/until.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 64, height: 64, config: new Uint8Array(0) }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }
const FRAME_MS = 20

/** A NAL unit behind its length: of a keyframe with its parameter sets left out, or of another picture. */
function videoFrame(key: boolean, number: number): Buffer {
  const nal = Buffer.from([key ? 0x65 : 0x41, 0x88, 0x84, number & 255])
  return Buffer.concat([Buffer.from([0, 0, 0, nal.length]), nal])
}

/** Another server that takes publishers, and the frames that it gets. */
async function server() {
  const far = await RelayServer.start()
  onTestFinished(() => far.stop())
  const frames: Frame[] = []
  const sink = { tracks: () => undefined, frame: (frame: Frame) => void frames.push(frame), end: () => undefined }
  const publish = (offer: string) => {
    const answer = far.relay.publish({ sessionId: 'publisher', room: ROOM, sourceId: null, offer, codec: null })
    far.relay.answered('publisher')
    return answer
  }
  /** From the moment in which it is connected. */
  const take = async () => {
    await until(() => far.events.some((event) => event.kind === 'connected'))
    onTestFinished(far.relay.tap('publisher', sink))
    return frames
  }
  return { far, frames, publish, take }
}

function senderTo(
  publish: Awaited<ReturnType<typeof server>>['publish'],
  {
    answered = (sdp: string): string => sdp,
    ...over
  }: Partial<WhipSenderOptions> & { answered?: (sdp: string) => string } = {},
) {
  const ends: SenderEnd[] = []
  const state = { accepted: 0, left: 0, ready: 0, offer: '' }
  const sender = new WhipSender({
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    localAddress: '127.0.0.1',
    allows: () => true,
    ready: () => void (state.ready += 1),
    accepted: () => void (state.accepted += 1),
    ended: (how) => void ends.push(how),
    openSession: async (offer) => {
      state.offer = offer
      const answer = publish(offer)
      if (!answer.ok) return err({ kind: 'lost', message: answer.problem })
      return ok({ answer: answered(answer.answer), leave: () => void (state.left += 1) })
    },
    ...over,
  })
  let number = 0
  /** Sends a frame of each medium. */
  const frame = (): void => {
    const at = { timeUs: number * FRAME_MS * 1000, decodeTimeUs: number * FRAME_MS * 1000 }
    const key = number % 25 === 0
    sender.frame({ kind: 'video', key, data: videoFrame(key, number), ...at })
    sender.frame({ kind: 'audio', key: true, data: Buffer.from([0xf8, number & 255]), ...at })
    number += 1
  }
  let sending: NodeJS.Timeout | undefined
  onTestFinished(() => {
    clearInterval(sending)
    sender.end()
  })
  return { sender, ends, state, frame, play: () => void (sending = setInterval(frame, FRAME_MS)) }
}

describe('a feed that is sent on over WHIP', () => {
  test('arrives with its frames, from the last keyframe before the connection on', async () => {
    const { far, publish, take } = await server()
    const { sender, state, frame, play, ends } = senderTo(publish)
    await until(() => state.ready === 1)
    sender.tracks([VIDEO, AUDIO])
    frame()
    const frames = await take()
    await until(() => state.accepted === 1)
    play()
    await until(() => frames.length > 20)
    const video = frames.filter(({ kind }) => kind === 'video').map(({ data }) => [...data.subarray(4)])
    expect(video.slice(0, 3)).toEqual([
      [0x65, 0x88, 0x84, 0],
      [0x41, 0x88, 0x84, 1],
      [0x41, 0x88, 0x84, 2],
    ])
    expect(sender.bytes.bytesOut).toBeGreaterThan(100)
    sender.end()
    await until(() => far.endOf('publisher') === 'left')
    expect([state.left, state.accepted, ends]).toEqual([1, 1, []])
  })

  test('says its profile and its streams, and can be sound alone', async () => {
    const { publish } = await server()
    const described = { ...VIDEO, config: Uint8Array.of(1, 0x64, 0, 0x28, 0xff) }
    const both = senderTo(publish)
    both.sender.tracks([described, AUDIO])
    await until(() => both.state.offer !== '')
    expect(both.state.offer).toContain('profile-level-id=640028')
    expect(both.state.offer.match(/a=ssrc:\d+ cname/g)).toHaveLength(3)
    const audioOnly = senderTo(publish)
    audioOnly.sender.tracks([AUDIO])
    await until(() => audioOnly.state.accepted === 1)
    expect(audioOnly.state.offer).not.toContain('m=video')
  })

  test('reaches another implementation with full ICE', async () => {
    const { publish } = await server()
    const target = new TestViewer('h264', LOOPBACK)
    onTestFinished(() => target.close())
    const { sender, ends, state, play } = senderTo(publish, {
      allows: (address) => address === '127.0.0.1',
      openSession: async (offer) => ok({ answer: await target.answer(offer), leave: () => undefined }),
    })
    sender.tracks([VIDEO])
    await until(() => state.accepted === 1 || ends.length > 0)
    play()
    await until(() => target.packets.length > 5 || ends.length > 0)
    expect(ends).toEqual([])
  })

  test('that the target ends is lost', async () => {
    const { far, publish } = await server()
    const { sender, ends, state } = senderTo(publish)
    sender.tracks([VIDEO])
    await until(() => state.accepted === 1)
    far.relay.end('publisher')
    await until(() => ends.length > 0)
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target has ended the session' }])
  })

  test('is lost after ten looks if nothing is heard of the target, and not before there is media', async () => {
    const { publish } = await server()
    const { sender, ends, state } = senderTo(publish, {
      answered: (sdp) => sdp.replace(/127\.0\.0\.1 \d+ typ/, '127.0.0.1 9 typ'),
    })
    for (let looks = 0; looks <= 20; looks++) sender.tick()
    expect(ends).toEqual([])
    sender.tracks([VIDEO])
    await until(() => state.offer !== '')
    for (let looks = 0; looks <= 10; looks++) sender.tick()
    expect(ends).toMatchObject([{ kind: 'lost', message: 'The target did not answer in time' }])
  })
})

test('video that the target does not take is named, and nothing is opened', async () => {
  const { far, publish } = await server()
  const { sender, ends, state } = senderTo(publish)
  sender.tracks([{ ...VIDEO, codec: 'vp8' }, AUDIO])
  const message = 'Targets over WHIP get H264 and Opus, and the video is VP8'
  expect([ends, state.offer, far.received]).toMatchObject([[{ kind: 'unsuitable', message }], '', 0])
})

test('other tracks want another offer', async () => {
  const { publish } = await server()
  const { sender, ends, state } = senderTo(publish)
  sender.tracks([VIDEO])
  await until(() => state.accepted === 1)
  sender.tracks([{ ...VIDEO, width: 128 }])
  expect(ends).toEqual([])
  sender.tracks([VIDEO, AUDIO])
  expect(ends).toMatchObject([{ kind: 'lost', message: expect.stringContaining('other tracks') }])
})

test('a refusal is passed on, and an answer that cannot be used is named', async () => {
  const { far, publish } = await server()
  const refused = { kind: 'refused', message: 'The target refuses the login (401)', isInUse: false } as const
  const first = senderTo(publish, { openSession: async () => err(refused) })
  first.sender.tracks([VIDEO])
  await until(() => first.ends.length > 0)
  expect(first.ends).toEqual([refused])
  const second = senderTo(publish, { allows: () => false })
  second.sender.tracks([VIDEO])
  await until(() => second.ends.length > 0)
  const message = 'The answer of the target cannot be used: it leads media to addresses that are not allowed: 127.0.0.1'
  expect([second.ends, second.state.left, far.received]).toMatchObject([[{ kind: 'lost', message }], 1, 0])
})
