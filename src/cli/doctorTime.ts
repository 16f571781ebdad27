import { randomBytes } from 'node:crypto'
import { systemClock } from '../base/clock.ts'
import { quote } from '../base/quote.ts'
import { judgeClock } from './doctorClock.ts'
import { type Finding, found } from '../core/examination.ts'
import { type AddressesOf, askOverUdp, udpEndpoint } from './udpQuestion.ts'

const CHECK = 'clock and time server'
const NTP_PORT = 123

/** Asks a time server, by SNTP (RFC 5905 section 14). @param server `HOST` or `HOST:PORT`; undefined: none */
export async function checkTime(server: string | undefined, addressesOf: AddressesOf): Promise<Finding[]> {
  if (server === undefined) return [found('ok', CHECK, 'time_server_none')]
  const endpoint = udpEndpoint(server, NTP_PORT)
  if (endpoint === null) return [found('FAIL', CHECK, 'time_server_wrong', { server: quote(server) })]
  // Each request has a number of its own, as its answer tells only with it when it was sent.
  const sentAtMs = new Map<string, number>()
  const behindMs = await askOverUdp(endpoint, {
    addressesOf,
    request: () => {
      const id = randomBytes(ID_BYTES)
      sentAtMs.set(id.toString('hex'), systemClock.now())
      return sntpRequest(id)
    },
    read: (message) => behindOf(message, sentAtMs, systemClock.now()),
  })
  if (behindMs === null) return [found('warn', CHECK, 'time_server_silent', { server })]
  const { outcome, side, seconds } = judgeClock(behindMs)
  if (side === null) return [found(outcome, CHECK, 'time_server', { server })]
  return [found(outcome, CHECK, `time_server_${side}`, { server, seconds })]
}

const PACKET_BYTES = 48
const ID_BYTES = 8
/** Version 4, mode 3 (client). */
const CLIENT = 0x23
const SERVER_MODE = 4
const STRATUM_MAX = 15
/** In the first two bits: the server's own clock is not synchronised. */
const UNSYNCHRONISED = 3

/** Our own time is not in it: the server returns what stands there, and needs it for nothing. */
function sntpRequest(id: Buffer): Buffer {
  const packet = Buffer.alloc(PACKET_BYTES)
  packet.writeUInt8(CLIENT)
  id.copy(packet, PACKET_BYTES - ID_BYTES)
  return packet
}

/**
 * How far a clock is behind the server's, milliseconds, if the way takes as long as the way back.
 * @param sentAtMs when each request was sent, by its number in hexadecimal
 * @returns null if the datagram is not the answer of a synchronised server to one of them
 */
export function behindOf(message: Buffer, sentAtMs: ReadonlyMap<string, number>, nowMs: number): number | null {
  if (message.length < PACKET_BYTES) return null
  const [first, stratum] = [message.readUInt8(0), message.readUInt8(1)]
  if ((first & 7) !== SERVER_MODE || first >> 6 === UNSYNCHRONISED || stratum < 1 || stratum > STRATUM_MAX) return null
  const sentMs = sentAtMs.get(message.toString('hex', 24, 32))
  if (sentMs === undefined) return null
  const [receivedMs, answeredMs] = [timeAt(message, 32), timeAt(message, 40)]
  return Math.round((receivedMs - sentMs + (answeredMs - nowMs)) / 2)
}

/** 1900-01-01 in Unix time, seconds. */
const NTP_EPOCH = -2_208_988_800
const ERA_SECONDS = 2 ** 32

/** Seconds and fractions, 32 bits each (RFC 5905 section 6), in Unix milliseconds. From 2036 on they begin again. */
function timeAt(message: Buffer, offset: number): number {
  const seconds = message.readUInt32BE(offset)
  const era = seconds < ERA_SECONDS / 2 ? ERA_SECONDS : 0
  return (seconds + era + NTP_EPOCH + message.readUInt32BE(offset + 4) / ERA_SECONDS) * 1000
}
