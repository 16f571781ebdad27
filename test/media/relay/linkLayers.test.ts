import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { Links } from '../../../src/media/relay/link/links.ts'
import { Viewer } from '../../../src/media/relay/outbound/viewer.ts'
import type { Room } from '../../../src/media/relay/room.ts'
import { Rooms } from '../../../src/media/relay/rooms.ts'
import { isRtcp } from '../../../src/media/relay/wire/rtp.ts'
import { linkNet, type ModelNetwork } from '../../support/linkNet.ts'
import { Camera, downTrackTo, RecordingSender } from './parts.ts'

const ROOM = 'a/show'
const START_MS = 1_750_000_000_000

/** A room with two layers of video, shared with another process. */
function sharedRoom() {
  const all: Links[] = []
  const state = { nowMs: START_MS, loses: () => false, sentByHome: 0 }
  const roomsOf = [new Rooms(), new Rooms()] as const
  const linksOf = (own: number, rooms: Rooms) =>
    new Links(
      {
        process: own,
        port: 5000 + own,
        native: null,
        random: systemRandom,
        fault: (error) => {
          throw error
        },
        send: (datagram, { port }) => {
          if (own === 0 && !isRtcp(Buffer.from(datagram))) state.sentByHome += 1
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
  const layers = cameras.map(({ track }, at) => ({
    rid: `${at}`,
    track,
    meter: new BitrateMeter(0),
  }))
  const audio = new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null)
  const source = {
    sessionId: 'p1',
    sourceId: null,
    audio,
    layers,
    profile: null,
  }
  roomsOf[0].open(ROOM).addSource(source, state.nowMs)
  home.share(ROOM, 1, 5001, state.nowMs)
  const received = roomsOf[1].at(ROOM)?.source(null)?.layers ?? []
  const [homeRoom, childRoom] = roomsOf.map((rooms) => rooms.open(ROOM)) as [Room, Room]
  return {
    home,
    child,
    audio,
    cameras,
    layers,
    received,
    state,
    homeRoom,
    childRoom,
  }
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

test('viewers of another process are told the sizes of all layers, also of those that the link does not carry', () => {
  const { home, cameras, layers, state, childRoom } = sharedRoom()
  const transport = { isConnected: true, sendRtcp: () => undefined }
  const viewer = new Viewer({ transport, downTracks: [downTrackTo(new RecordingSender())], cname: 'v' })
  childRoom.join('v', viewer, null, state.nowMs)
  for (const [at, { track }] of cameras.entries()) {
    // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
    const size = [(640 >> at) & 0xff, (640 >> at) >> 8, (480 >> at) & 0xff, (480 >> at) >> 8]
    const payload = Buffer.from([0x10, 0x10, 0, 0, 0x9d, 0x01, 0x2a, ...size, 0])
    track.take({ ssrc: at + 1, index: 1, timestamp: 0, marker: true, payload, isKeyStart: true }, state.nowMs)
    const { meter } = layers[at] ?? {}
    if (meter !== undefined) meter.bitrate = 1000 - at
  }
  home.pace(state.nowMs + 2000)
  const described = viewer.layers(undefined, state.nowMs)
  expect(described.ok && described.layers).toEqual([
    { encodingId: '0', width: 640, height: 480, bitrate: 1000 },
    { encodingId: '1', width: 320, height: 240, bitrate: 999 },
  ])
})

test('what goes by a link leaves before what goes to viewers', () => {
  const { cameras, received, state } = sharedRoom()
  const [{ track }] = cameras
  const before: number[] = []
  const viewer = { sendRtp: () => void before.push(state.sentByHome) }
  downTrackTo(viewer).attach(track, state.nowMs)
  const [large] = received
  if (large !== undefined) downTrackTo(new RecordingSender()).attach(large.track, state.nowMs)
  for (let at = 0; at < 3; at += 1) cameras[0].send(at, at === 0)
  // The first packet begins both.
  expect(before.slice(1)).toEqual([2, 3])
})

/** Two layers of one packet a frame: 200 and 40 kbit/s with their headers. */
const LAYERS = [
  { packets: 1, bytes: 972 },
  { packets: 1, bytes: 172 },
] as const

describe.each([1, 2])('of a link between nodes, by seed %i,', (seed) => {
  /** It has carried the large layer for five seconds before its network becomes so. Returns whether it shows the small one in time. */
  function sheds(over: Partial<ModelNetwork>, withinMs: number) {
    const link = linkNet(seed, LAYERS)
    link.pass(5000)
    expect(link.screen.layer).toBe(0)
    Object.assign(link.network, over)
    const untilMs = link.nowMs() + withinMs
    while (link.screen.layer === 0 && link.nowMs() < untilMs) link.pass(100)
    return link
  }

  test.each([
    { what: 'loses nearly half', over: { loss: 0.45 }, withinMs: 10_000 },
    { what: 'is too narrow', over: { bitrate: 150_000 }, withinMs: 6000 },
    { what: 'is too narrow and drops what is too much', over: { bitrate: 150_000, queueMs: 30 }, withinMs: 6000 },
  ])('one that $what carries the small layer alone, until it is well again', ({ over, withinMs }) => {
    const { screen, pass, network, carried } = sheds(over, withinMs)
    expect(screen.layer).toBe(1)
    pass(1000)
    // The large one is off the link, or nothing would be won.
    const before = carried.down
    pass(1000)
    expect(8 * (carried.down - before)).toBeLessThan(120_000)
    Object.assign(network, { loss: 0, bitrate: null })
    pass(25_000)
    expect(screen.layer).toBe(0)
  })

  test('one that loses a tenth carries the large layer', () => {
    expect(sheds({ loss: 0.1 }, 15_000).screen.layer).toBe(0)
  })

  test('one that loses 8% shows each frame, and none 200 ms after the one before', () => {
    const { screen, pass } = sheds({ loss: 0.08 }, 1000)
    const before = screen.shown.length
    pass(10_000)
    const times = screen.shown.slice(before - 1).map(({ atMs }) => atMs)
    expect(times.length).toBeGreaterThan(240)
    expect(Math.max(...times.slice(1).map((atMs, at) => atMs - (times[at] ?? 0)))).toBeLessThanOrEqual(200)
    expect(screen.missing).toBe(0)
  })
})

/** Sends packets of audio, of which the link loses those that `isLost` names. */
function speak(
  { audio, home, child, state }: ReturnType<typeof sharedRoom>,
  from: number,
  to: number,
  isLost: (index: number) => boolean,
) {
  for (let index = from; index < to; index++) {
    state.nowMs += 20
    state.loses = () => isLost(index)
    const arrival = {
      index,
      timestamp: index * 960,
      marker: false,
      payload: Buffer.alloc(80),
      isKeyStart: true,
    }
    audio.take({ ...arrival, ssrc: 3 }, state.nowMs)
    state.loses = () => false
    home.pace(state.nowMs)
    child.pace(state.nowMs)
  }
}

test('what a link loses of audio comes again, twice, also the first packet', () => {
  const shared = sharedRoom()
  const { child, childRoom, state } = shared
  const heard: number[] = []
  childRoom.source(null)?.audio?.listen(({ index }) => heard.push(index))
  child.reconcile(state.nowMs)
  speak(shared, 0, 6, (index) => index === 0 || index === 3)
  expect(heard).toEqual([0, 1, 2, 4, 3, 5])
  expect(state.sentByHome).toBe(6 + 2 * 2)
})

test('when viewers are shown another source, it is asked for at once, although it cannot be asked for keyframes', () => {
  const { home, child, homeRoom, childRoom, state } = sharedRoom()
  const track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, null)
  const layers = [{ rid: '', track, meter: new BitrateMeter(state.nowMs) }]
  const feed = {
    sessionId: 'feed',
    sourceId: null,
    priority: 5,
    audio: null,
    layers,
    profile: null,
  }
  homeRoom.addSource(feed, state.nowMs)
  home.refresh(ROOM, state.nowMs)
  childRoom.join('v', { show: () => true, takes: () => true }, null, state.nowMs)
  child.reconcile(state.nowMs)
  const watched = (): boolean[] => [home.isWatched('p1', ROOM), home.isWatched('feed', ROOM)]
  expect(watched()).toEqual([false, true])
  home.setAside(ROOM, 'feed', true)
  expect(watched()).toEqual([true, false])
  home.setAside(ROOM, 'feed', false)
  expect(watched()).toEqual([false, true])
  homeRoom.removeSource('feed', state.nowMs)
  home.refresh(ROOM, state.nowMs)
  expect(watched()).toEqual([true, false])
})
