import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Audio as AudioLine, type PeerConnection as Peer } from 'node-datachannel'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { MediaEngineEvent } from '../../src/media/engine.ts'
import { createRelayEngine } from '../../src/media/relay/processes/engine.ts'
import { silentLog } from '../support/log.ts'
import { until } from '../support/delivery.ts'
import { IPV6, publishTo, viewFrom } from '../support/rtcPeer.ts'

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

/** A publisher of audio that supports ICE over TCP. */
async function publisher(): Promise<{ peer: Peer; offer: string; track: ReturnType<Peer['addTrack']> }> {
  const peer = new library.PeerConnection('tcp', { iceServers: [], enableIceTcp: true })
  open.push(peer)
  const audio: AudioLine = new library.Audio('0', 'SendOnly')
  audio.addOpusCodec(111)
  audio.addSSRC(7, 'audio')
  const track = peer.addTrack(audio)
  peer.setLocalDescription()
  await until(() => peer.gatheringState() === 'complete')
  return { peer, offer: peer.localDescription()?.sdp ?? '', track }
}

test.each([true, false])('peers with IPv6 only publish and view, with the back end in C: %s', async (native) => {
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
})

const withoutUdp = (answer: string): string => answer.replaceAll(/a=candidate:\S+ 1 udp .*\r\n/g, '')

const portIn = (answer: string): number =>
  Number(/ 1 tcp \d+ 127\.0\.0\.1 (\d+) typ host tcptype passive/.exec(answer)?.[1])

// On a busy machine this peer closes a track now and then that it has just opened. What the engine ends fails at once, with
// its reason.
test('a publisher that cannot send UDP connects over TCP', async () => {
  events.splice(0)
  const { peer, offer, track } = await publisher()
  const answer = await engine.publish({ sessionId: 'tcp', room: 'a/b', sourceId: null, offer, codec: null })
  if (!answer.ok) throw new Error(answer.problem)
  peer.setRemoteDescription(withoutUdp(answer.answer), 'answer')
  const ends = () => events.filter(({ kind }) => kind === 'ended' || kind === 'died')
  await until(
    () => ends().length > 0 || events.some((event) => event.kind === 'connected' && event.sessionId === 'tcp'),
  )
  await until(() => ends().length > 0 || track.isOpen())
  const packet = Buffer.concat([Buffer.from('806f00010000000000000007', 'hex'), Buffer.alloc(60)])
  await until(() => {
    packet.writeUInt16BE((packet.readUInt16BE(2) + 1) & 0xffff, 2)
    expect(ends()).toEqual([])
    track.sendMessageBinary(packet)
    return events.some((event) => event.kind === 'bytes' && event.sessionId === 'tcp' && event.bytesIn > 1000)
  })
  await engine.end('tcp')
})

test('a TCP client with another protocol is disconnected without affecting other sessions', async () => {
  const { offer } = await publisher()
  const answer = await engine.publish({ sessionId: 'other', room: 'a/c', sourceId: null, offer, codec: null })
  if (!answer.ok) throw new Error(answer.problem)
  const socket: Socket = connect(portIn(answer.answer), '127.0.0.1')
  open.push({ close: () => socket.destroy() })
  const closed = once(socket, 'close')
  socket.on('error', () => undefined).end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await closed
  expect(socket.bytesRead).toBe(0)
  await engine.end('other')
})
