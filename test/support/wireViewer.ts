import type { MediaEngine } from '../../src/media/engine.ts'
import { parseRtp, payloadOf } from '../../src/media/relay/wire/rtp.ts'
import { socketWire } from './socketWire.ts'
import { until } from './until.ts'
import { addressOf, isAnswer, WirePeer } from './wirePeer.ts'

/** A peer with a socket of its own, connected. `ask` sends its offer, and returns the answer. */
export async function meet(direction: 'sendonly' | 'recvonly', ask: (offer: string) => Promise<string>) {
  const wire = socketWire('udp')
  const at = addressOf(1)
  const peer = new WirePeer(wire, at)
  /** How many of its connectivity checks were answered. */
  let answers = 0
  wire.listen(at, (datagram) => {
    if (isAnswer(datagram)) answers += 1
    peer.take(datagram, at)
  })
  const answer = await ask(peer.offer(direction))
  peer.accept({ ok: true, answer, etag: '' })
  await wire.open(answer)
  await peer.connect()
  return { peer, wire, answers: () => answers, close: () => wire.close() }
}

/** A viewer whose packets the test reads. Throws on a refusal. */
export async function watch(engine: Pick<MediaEngine, 'view'>, sessionId: string, room: string) {
  const met = await meet('recvonly', async (offer) => {
    const answer = await engine.view({ sessionId, room, sourceId: null, offer })
    if (!answer.ok) throw new Error(answer.problem)
    return answer.answer
  })
  const { media } = met.peer
  const packets = () =>
    media.flatMap((packet) => {
      const header = parseRtp(packet)
      return header === null ? [] : [{ sequence: header.sequence, payload: payloadOf(packet, header) }]
    })
  const gets = async (more = 10) => {
    const enough = media.length + more
    await until(() => media.length >= enough)
  }
  return { ...met, sessionId, packets, gets }
}
