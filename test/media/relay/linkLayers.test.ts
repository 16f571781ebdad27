import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { Links } from '../../../src/media/relay/link/links.ts'
import { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import { Rooms } from '../../../src/media/relay/rooms.ts'
import { seeded } from '../../support/lossyUdp.ts'
import { Camera, downTrackTo, RecordingSender } from './parts.ts'

const ROOM = 'a/show'
const START_MS = 1_750_000_000_000
/** Bytes of a frame, of which there are fifty a second. */
const BYTES = { large: 1000, small: 200 } as const

/** A room with two layers of video, shared with another process. */
function sharedRoom() {
  const all: Links[] = []
  const state = { nowMs: START_MS, loses: () => false }
  const roomsOf = [new Rooms(), new Rooms()] as const
  const linksOf = (own: number, rooms: Rooms) =>
    new Links(
      {
        process: own,
        port: 5000 + own,
        native: null,
        random: systemRandom,
        send: (datagram, { port }) => {
          if (!state.loses()) all[port - 5000]?.receive(Buffer.from(datagram), state.nowMs, false)
        },
        post: (process, message) => all[process]?.heard(own, message, state.nowMs),
      },
      rooms,
      createJsFanout,
    )
  const [home, child] = roomsOf.map((rooms, own) => linksOf(own, rooms)) as [Links, Links]
  all.push(home, child)
  const cameras = [new Camera('large'), new Camera('small', { ssrc: 2 })] as const
  const layers = cameras.map(({ track }, at) => ({ rid: `${at}`, track, meter: new BitrateMeter(0) }))
  const source = { sessionId: 'p1', sourceId: null, audio: null, layers, profile: null }
  roomsOf[0].open(ROOM).addSource(source, state.nowMs)
  home.share(ROOM, 1, 5001, state.nowMs)
  const received = roomsOf[1].at(ROOM)?.source(null)?.layers ?? []
  return { home, child, cameras, layers, received, state, childRoom: roomsOf[1].open(ROOM) }
}

test('a link carries the layer that viewers have as soon as one waits for it, and the bit rates of all', () => {
  const { home, cameras, layers, received, state } = sharedRoom()
  for (const [at, { meter }] of layers.entries()) meter.bitrate = 1000 - at
  home.pace(state.nowMs + 2000)
  expect(received.map(({ meter }) => meter.bitrate)).toEqual([1000, 999])
  const small = received[1]?.track
  if (small === undefined) throw new Error('the layer is missing')
  downTrackTo(new RecordingSender()).attach(small, state.nowMs)
  for (let at = 0; at < 3; at += 1) for (const camera of cameras) camera.send(at, at === 0)
  expect(cameras.map(({ asked }) => asked > 0)).toEqual([false, true])
  expect([received[0]?.track.last, received[1]?.track.last?.payload.toString()]).toEqual([null, 'small1002'])
})

test('a link that loses a quarter carries the smaller layer alone, until it loses nothing any more', () => {
  const { home, child, cameras, layers, state, childRoom } = sharedRoom()
  const sender = new RecordingSender()
  const transport = { isConnected: true, sendRtcp: () => undefined }
  const viewer = new Viewer({ transport, downTracks: [downTrackTo(sender)], cname: 'v' })
  childRoom.join('v', viewer, null, state.nowMs)
  let frame = 0
  const send = (at: 0 | 1, name: keyof typeof BYTES): void => {
    const [camera, layer] = [cameras[at], layers[at]]
    const isKeyStart = camera.asked > camera.answered
    camera.answered = camera.asked
    // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
    const payload = Buffer.alloc(BYTES[name])
    payload.set([0x10, isKeyStart ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a])
    const timestamp = (state.nowMs * 90) >>> 0
    camera.track.take({ ssrc: 1, index: frame, timestamp, marker: true, payload, isKeyStart }, state.nowMs)
    layer?.meter.add(payload.length)
    layer?.meter.tick(state.nowMs)
  }
  /** Returns the layer that the viewer has after these seconds. */
  const pass = (seconds: number): string | undefined => {
    for (let turn = 0; turn < seconds * 50; turn++) {
      state.nowMs += 20
      frame += 1
      send(0, 'large')
      send(1, 'small')
      home.pace(state.nowMs)
      child.pace(state.nowMs)
      if (turn % 10 > 0) continue
      viewer.tick(state.nowMs)
      child.reconcile(state.nowMs)
    }
    const bytes = sender.sent.at(-1)?.payload.length
    return Object.entries(BYTES).find(([, size]) => size === bytes)?.[0]
  }
  expect(pass(5)).toBe('large')
  const random = seeded(3)
  state.loses = () => random() < 0.25
  expect(pass(6)).toBe('small')
  // The large one is off the link, or nothing would be won.
  const { track } = childRoom.source(null)?.layers[0] ?? {}
  const last = track?.last
  expect(pass(1)).toBe('small')
  expect(track?.last).toBe(last)
  state.loses = () => false
  expect(pass(20)).toBe('large')
})
