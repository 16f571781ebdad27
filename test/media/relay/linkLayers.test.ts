import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { createJsFanout } from '../../../src/media/relay/forward/fanout.ts'
import { BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { Links } from '../../../src/media/relay/link/links.ts'
import { Rooms } from '../../../src/media/relay/rooms.ts'
import { Camera, downTrackTo, RecordingSender } from './parts.ts'

const ROOM = 'a/show'

/** A room with two layers of video, shared with another process. */
function sharedRoom() {
  const all: Links[] = []
  const roomsOf = [new Rooms(), new Rooms()] as const
  for (const [own, rooms] of roomsOf.entries())
    all.push(
      new Links(
        {
          process: own,
          port: 5000 + own,
          native: null,
          random: systemRandom,
          send: (datagram, { port }) => all[port - 5000]?.receive(Buffer.from(datagram), 0, false),
          post: (process, message) => all[process]?.heard(own, message, 0),
        },
        rooms,
        createJsFanout,
      ),
    )
  const cameras = [new Camera('large'), new Camera('small', { ssrc: 2 })] as const
  const layers = cameras.map(({ track }, at) => ({ rid: `${at}`, track, meter: new BitrateMeter(0) }))
  const source = { sessionId: 'p1', sourceId: null, audio: null, layers, profile: null }
  roomsOf[0].open(ROOM).addSource(source, 0)
  const [home, child] = all
  home?.share(ROOM, 1, 5001, 0)
  const received = roomsOf[1].at(ROOM)?.source(null)?.layers ?? []
  return { home, child, cameras, layers, received }
}

test('a link carries the layer that viewers have, and the bit rates of all', () => {
  const { home, child, cameras, layers, received } = sharedRoom()
  for (const [at, { meter }] of layers.entries()) meter.bitrate = 1000 - at
  home?.pace(2000)
  expect(received.map(({ meter }) => meter.bitrate)).toEqual([1000, 999])
  const small = received[1]?.track
  if (small === undefined) throw new Error('the layer is missing')
  downTrackTo(new RecordingSender()).attach(small, 0)
  child?.reconcile(0)
  for (let at = 0; at < 3; at += 1) for (const camera of cameras) camera.send(at, at === 0)
  expect(cameras.map(({ asked }) => asked > 0)).toEqual([false, true])
  expect([received[0]?.track.last, received[1]?.track.last?.payload.toString()]).toEqual([null, 'small1002'])
})
