import { mediaProcessCount } from '../base/processors.ts'
import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Config } from '../config/schema.ts'
import { formatIpv6 } from '../base/ipText.ts'
import { type Finding, found } from '../core/examination.ts'
import { checkTlsPorts } from './doctorTls.ts'
import { portProblem, RTMP_INSTEAD, udpPortProblem } from './port.ts'
import { type AddressesOf, askOverUdp, type UdpEndpoint, udpEndpoint } from './udpQuestion.ts'

/** Whether RTMP, SRT and WebRTC can have their ports. @param isServing a server of Sluice answers here, and so has them */
export async function checkMediaPorts(config: Config, isServing: boolean): Promise<Finding[]> {
  if (isServing) return [found('ok', 'media ports', 'media_ports_used')]
  return [
    ...(await checkRtmpPort(config)),
    ...(await checkTlsPorts(config)),
    ...(await checkSrtPort(config)),
    await checkUdpPorts(config),
  ]
}

async function checkRtmpPort({ rtmp: { enabled, host, port } }: Config): Promise<Finding[]> {
  if (!enabled) return []
  const problem = await portProblem(host, port, RTMP_INSTEAD)
  return [
    problem === null
      ? found('ok', 'RTMP port', 'port_free', { host, port })
      : found('FAIL', 'RTMP port', 'text', { text: problem.message }),
  ]
}

async function checkSrtPort({ srt: { enabled, host, port } }: Config): Promise<Finding[]> {
  if (!enabled || port === 0) return []
  const problem = await udpProblem(host, port)
  return [
    problem === null
      ? found('ok', 'SRT port', 'port_free', { host, port })
      : found('FAIL', 'SRT port', 'srt_port_taken', { problem }),
  ]
}

/** One port for each media process. */
async function checkUdpPorts(config: Config): Promise<Finding> {
  const { webrtc } = config
  const check = 'UDP ports'
  if (webrtc.port === 0) return found('ok', check, 'udp_ports_any')
  const count = mediaProcessCount(webrtc.processes)
  const [first, last] = [webrtc.port, webrtc.port + count - 1]
  const ports = Array.from({ length: count }, (_, at) => first + at)
  const problems = (await Promise.all(ports.map((port) => udpProblem(webrtc.host || '::', port)))).filter(
    (one) => one !== null,
  )
  if (problems.length > 0) return found('FAIL', check, 'udp_ports_taken', { problems: problems.join('; ') })
  return count === 1
    ? found('ok', check, 'udp_port', { port: first })
    : found('ok', check, 'udp_ports', { first, last })
}

async function udpProblem(host: string, port: number): Promise<string | null> {
  const problem = await udpPortProblem(host, port)
  return problem && `UDP port ${port}: ${problem.code}`
}

const SERVERS_MAX = 4
const STUN_PORT = 3478

/**
 * Asks the configured STUN servers (RFC 8489) from which address this machine's packets come, and compares that with what
 * Sluice announces to publishers and viewers.
 */
export async function checkPublicAddress({ webrtc }: Config, addressesOf: AddressesOf): Promise<Finding> {
  const check = 'public address'
  const servers = webrtc.iceServers.flatMap((server) => stunAddress(server) ?? []).slice(0, SERVERS_MAX)
  if (servers.length === 0) return found('ok', check, 'address_not_asked')
  const answers = await Promise.all(servers.map((server) => mappedAddress(server, addressesOf)))
  const seen = [...new Set(answers.filter((answer) => answer !== null))]
  if (seen.length === 0) {
    const names = servers.map(({ host, port }) => `${host}:${port}`).join(', ')
    return found('warn', check, 'address_silent', { servers: names })
  }
  const announced = webrtc.publicAddresses.map((name) => announcedFor(name, addressesOf))
  return judgeAddresses(seen, (await Promise.all(announced)).flat())
}

/** The name itself if it has no address now. */
const announcedFor = async (name: string, addressesOf: AddressesOf): Promise<string[]> =>
  isIP(name) ? [name] : addressesOf(name).catch(() => [name])

function judgeAddresses(seen: readonly string[], announced: readonly string[]): Finding {
  const check = 'public address'
  const own = Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address))
  const strange = seen.filter((address) => !(announced.length > 0 ? announced : own).includes(address))
  if (strange.length === 0) return found('ok', check, 'address', { seen: seen.join(', ') })
  return announced.length > 0
    ? found('warn', check, 'address_wrong', { seen: strange.join(', '), announced: announced.join(', ') })
    : found('warn', check, 'address_translated', { seen: strange.join(', ') })
}

/** The address in `stun:HOST:PORT`; null for other kinds of servers. */
const stunAddress = (server: string): UdpEndpoint | null =>
  server.startsWith('stun:') ? udpEndpoint(server.slice('stun:'.length), STUN_PORT) : null

/** The address that the server sees; null without an answer. */
function mappedAddress(server: UdpEndpoint, addressesOf: AddressesOf): Promise<string | null> {
  const id = randomBytes(12)
  const request = Buffer.concat([Buffer.from([0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]), id])
  return askOverUdp(server, { addressesOf, request: () => request, read: (message) => readMapped(message, id) })
}

const XOR_MAPPED_ADDRESS = 0x0020
const HEADER_BYTES = 20

/** The IPv4 address in a success answer to this request; null for anything else. */
export function readMapped(message: Buffer, id: Buffer): string | null {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== 0x0101 || !message.subarray(8, 20).equals(id))
    return null
  for (let at = HEADER_BYTES; at + 4 <= message.length; ) {
    const [type, length] = [message.readUInt16BE(at), message.readUInt16BE(at + 2)]
    const value = message.subarray(at + 4, at + 4 + length)
    if (type === XOR_MAPPED_ADDRESS) return unmask(value, message.subarray(4, HEADER_BYTES))
    at += 4 + Math.ceil(length / 4) * 4
  }
  return null
}

/** The address is masked with the cookie and the id of the transaction (RFC 8489 section 14.2). */
function unmask(value: Buffer, mask: Buffer): string | null {
  const bytes = [...value.subarray(4)].map((byte, at) => byte ^ (mask[at] ?? 0))
  if (value[1] === 1 && bytes.length === 4) return bytes.join('.')
  if (value[1] !== 2 || bytes.length !== 16) return null
  return formatIpv6(Array.from({ length: 8 }, (_, n) => ((bytes[2 * n] ?? 0) << 8) | (bytes[2 * n + 1] ?? 0)))
}
