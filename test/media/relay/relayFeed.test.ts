import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { TrackInfo } from '../../../src/media/frame.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array(0) }
const AUDIO: TrackInfo = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: new Uint8Array(0) }

/** A relay, and which feeds it wants the frames of. */
function relayWith() {
  const wants: string[] = []
  const net = new WireNet({ want: (sessionId, isWanted) => void wants.push(`${sessionId} ${isWanted}`) })
  const h264 = 'H264/90000\r\na=fmtp:96 packetization-mode=1;profile-level-id=42e01f'
  const view = (sessionId: string, room = 'a/show') => {
    const offer = new WirePeer(net, addressOf(1)).offer('recvonly').replace('VP8/90000', h264)
    return net.relay.view({ sessionId, room, sourceId: null, offer })
  }
  const feed = (sessionId: string) => {
    const made = net.relay.feed({ sessionId, room: 'a/show', sourceId: null })
    made.tracks([VIDEO, AUDIO])
    return made
  }
  /** The clock only: the relay ticks once after it. */
  const skip = (ms: number): void => {
    net.nowMs += ms
    net.relay.tick()
  }
  return { net, wants, view, feed, skip }
}

test('a feed has viewers as soon as its tracks are known, and is wanted from the first one on', () => {
  const { net, wants, view, feed } = relayWith()
  expect(view('early')).toMatchObject({ ok: false, status: 409 })
  feed('f1')
  expect(net.events).toEqual([
    { kind: 'connected', sessionId: 'f1', address: '' },
    { kind: 'tracks', sessionId: 'f1', tracks: [VIDEO, AUDIO] },
  ])
  expect([view('elsewhere', 'a/other'), wants]).toMatchObject([{ ok: false, status: 409 }, []])
  expect([view('v1'), wants]).toMatchObject([{ ok: true }, ['f1 true']])
})

test('a feed is wanted for ten more seconds after its last viewer', () => {
  const { net, wants, view, feed, skip } = relayWith()
  feed('f1')
  view('v1')
  skip(200)
  net.relay.end('v1')
  skip(9999)
  expect(wants).toEqual(['f1 true'])
  skip(200)
  expect(wants).toEqual(['f1 true', 'f1 false'])
})

test('another feed of the same name takes the place of the first', () => {
  const { net, view, feed } = relayWith()
  feed('f1')
  feed('f2')
  expect(net.endOf('f1')).toEqual({ kind: 'ended', sessionId: 'f1', reason: 'replaced' })
  expect(view('v1')).toMatchObject({ ok: true })
  expect(net.endOf('f2')).toBeUndefined()
})

test('a feed in two forms: each is wanted while it has viewers, and who lacks the codec of the first gets the second', () => {
  const { net, wants, view, feed } = relayWith()
  const original = net.relay.feed({ sessionId: 'o1', room: 'a/show', sourceId: null, preferredTo: 'f1' })
  original.tracks([{ ...VIDEO, codec: 'av1' }, AUDIO])
  const av1 = new WirePeer(net, addressOf(1)).offer('recvonly').replace('VP8/90000', 'AV1/90000')
  const watch = (sessionId: string) => net.relay.view({ sessionId, room: 'a/show', sourceId: null, offer: av1 })
  expect(watch('early')).toMatchObject({ ok: false, status: 409 })
  feed('f1')
  expect([view('v1'), wants]).toMatchObject([{ ok: true }, ['f1 true']])
  expect([watch('v2'), wants]).toMatchObject([{ ok: true }, ['f1 true', 'o1 true']])
  // What cannot be carried any more has no video.
  original.tracks([AUDIO])
  net.nowMs += 200
  net.relay.tick()
  expect([net.endOf('v1'), net.endOf('v2')]).toMatchObject([undefined, { reason: 'source_gone' }])
  expect(watch('v3')).toMatchObject({ ok: false, status: 406, problem: expect.stringContaining('H264') })
  original.tracks([{ ...VIDEO, codec: 'av1' }, AUDIO])
  expect(watch('v4')).toMatchObject({ ok: true })
  for (const id of ['f1', 'o1', 'v1', 'v4']) net.relay.end(id)
  expect(view('v5')).toMatchObject({ ok: false, status: 409 })
})

test('a feed that gets audio later ends the viewers who asked for it, and no others, so that they offer again', () => {
  const { net, feed, skip } = relayWith()
  const video: TrackInfo = { ...VIDEO, codec: 'vp8' }
  const browser = readFileSync(new URL('wire/offers/browser-view.sdp', import.meta.url), 'utf8')
  const watch = (sessionId: string, offer = browser) => {
    const answer = net.relay.view({ sessionId, room: 'a/show', sourceId: null, offer })
    const media = answer.ok ? answer.answer.matchAll(/^m=(audio|video).*?^a=(sendonly|inactive)/gms) : []
    return [...media].map(([, kind, direction]) => `${kind} ${direction}`)
  }
  const show = feed('f1')
  show.tracks([video])
  expect(watch('both')).toEqual(['video sendonly', 'audio inactive'])
  expect(watch('pictures', new WirePeer(net, addressOf(1)).offer('recvonly'))).toEqual(['video sendonly'])
  show.tracks([video, AUDIO])
  skip(200)
  expect([net.endOf('both'), net.endOf('pictures')]).toMatchObject([{ reason: 'source_gone' }, undefined])
  expect(watch('again')).toEqual(['video sendonly', 'audio sendonly'])
  // Without it for a while, the m-line is there.
  show.tracks([video])
  show.tracks([video, AUDIO])
  skip(200)
  expect(net.endOf('again')).toBeUndefined()
})

test('a feed that ends, by itself or by a user, is ended once and takes no more frames', () => {
  const { net, view, feed } = relayWith()
  const [first] = [feed('f1')]
  first.end()
  expect(net.endOf('f1')).toMatchObject({ reason: 'left' })
  expect(view('v1')).toMatchObject({ ok: false, status: 409 })
  const second = feed('f2')
  net.relay.end('f2')
  net.relay.end('f2')
  second.tracks([VIDEO])
  expect(net.events.filter(({ kind }) => kind === 'ended')).toMatchObject([{}, { sessionId: 'f2', reason: 'kicked' }])
  expect(view('v2')).toMatchObject({ ok: false, status: 409 })
})

test('what cannot be read is refused with 400, and leaves no session', () => {
  const { net } = relayWith()
  const [sessionId, room, sourceId] = ['s', 'a/show', null]
  expect(net.relay.publish({ sessionId, room, sourceId, offer: 'hello', codec: null })).toMatchObject({
    ok: false,
    status: 400,
  })
  expect(net.relay.patch(sessionId, '', true)).toMatchObject({ status: 404 })
  new WirePeer(net, addressOf(1)).publish(net.relay, sessionId)
  expect(net.relay.patch(sessionId, 'a=ice-ufrag:' + 'x'.repeat(300), true)).toMatchObject({ ok: false, status: 400 })
})
