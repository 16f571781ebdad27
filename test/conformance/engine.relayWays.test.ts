import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { MediaEngineEvent } from '../../src/media/engine.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { hasIpv6 } from '../support/ipv6.ts'
import { silentLog } from '../support/log.ts'
import { until } from '../support/until.ts'
import { IPV6, publishTo, viewFrom } from '../support/rtcPeer.ts'
import { portIn, socketWire } from '../support/socketWire.ts'
import { addressOf, WirePeer } from '../support/wirePeer.ts'

const library = await import('node-datachannel')
const config = {
  host: '127.0.0.1',
  udpPort: 0,
  processes: 1,
  publicAddresses: [],
  maxBitrate: 2_500_000,
  maxSessions: 1000,
  publisherSilentMs: 15_000,
}
const engine = createRelayEngine({ log: silentLog, now: () => performance.now(), config })
const events: MediaEngineEvent[] = []
engine.watch((event) => events.push(event))
const open: { close(): unknown }[] = []
afterEach(() => {
  for (const one of open.splice(0)) one.close()
})
afterAll(async () => {
  await engine.stop()
  library.cleanup()
})

test.each(hasIpv6 ? [true, false] : [])(
  'peers with IPv6 only publish and view, with the back end in C: %s',
  async (native) => {
    const six = createRelayEngine({
      log: silentLog,
      now: () => performance.now(),
      config: { ...config, host: '::1', native },
    })
    const publisher = await publishTo(six, 'six', { ice: IPV6 })
    const viewer = await viewFrom(six, 'watching', { ice: IPV6 })
    await until(() => viewer.packets.length > 20)
    await Promise.all([publisher.close(), viewer.close()])
    await six.stop()
  },
)

const LINE = { room: 'a/b', sourceId: null, codec: null }
const ends = () => events.filter(({ kind }) => kind === 'ended' || kind === 'died')

test('a publisher that cannot send UDP broadcasts over TCP, and every byte is counted', async () => {
  const wire = socketWire('tcp')
  open.push(wire)
  const peer = new WirePeer(wire, addressOf(1))
  const answer = await engine.publish({ ...LINE, sessionId: 'tcp', offer: peer.offer('sendonly') })
  if (!answer.ok) throw new Error(answer.problem)
  peer.accept(answer)
  await wire.open(answer.answer)
  await peer.connect()
  for (let frame = 0; frame < 20; frame++) peer.sendFrame(10, frame === 0)
  const isCounted = (event: MediaEngineEvent): boolean =>
    event.kind === 'bytes' && event.sessionId === 'tcp' && event.bytesIn === wire.carried.up
  await until(() => events.some(isCounted) || ends().length > 0)
  expect(ends()).toEqual([])
  await engine.end('tcp')
})

test('libdatachannel, which OBS has, connects over TCP', async () => {
  events.splice(0)
  const peer = new library.PeerConnection('tcp', { iceServers: [], enableIceTcp: true })
  open.push(peer)
  const audio = new library.Audio('0', 'SendOnly')
  audio.addOpusCodec(111)
  peer.addTrack(audio)
  peer.setLocalDescription()
  await until(() => peer.gatheringState() === 'complete')
  const offer = peer.localDescription()?.sdp ?? ''
  const answer = await engine.publish({ ...LINE, sessionId: 'foreign', offer })
  if (!answer.ok) throw new Error(answer.problem)
  peer.setRemoteDescription(answer.answer.replaceAll(/a=candidate:\S+ 1 udp .*\r\n/g, ''), 'answer')
  await until(() => events.some(({ kind }) => kind === 'connected') || ends().length > 0)
  expect(ends()).toEqual([])
  await engine.end('foreign')
})

test('a TCP client with another protocol is disconnected without affecting other sessions', async () => {
  const offer = new WirePeer(socketWire('tcp'), addressOf(1)).offer('sendonly')
  const answer = await engine.publish({ ...LINE, sessionId: 'other', offer })
  if (!answer.ok) throw new Error(answer.problem)
  const socket: Socket = connect(portIn('tcp', answer.answer), '127.0.0.1')
  open.push({ close: () => socket.destroy() })
  const closed = once(socket, 'close')
  socket.on('error', () => undefined).end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await closed
  expect(socket.bytesRead).toBe(0)
  await engine.end('other')
})
