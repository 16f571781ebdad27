import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import type { Random } from '../base/random.ts'
import { hostOf } from '../core/validation/outboundUrl.ts'
import { startDeadline } from './deadline.ts'
import { addressesOf, type Dialling, notAllowed } from './dial.ts'
import type { Stage } from './outcome.ts'

/** Bursts of keyframes wait in it. */
const BUFFER_BYTES = 4 << 20

/** `timeoutMs` is for the name alone: whether something answers, the protocol finds out. */
export type UdpDialling = Pick<Dialling, 'clock' | 'resolve' | 'allows' | 'timeoutMs'> & { readonly random: Random }

/**
 * A socket for datagrams to and from the host and port of `url` alone, on an allowed address. The name is resolved once, as
 * by `dial`. Of several addresses each dial takes one at random.
 * @param reached is called as each stage begins
 * @throws ExchangeFailed, or an error of Node
 */
export async function dialUdp(
  url: URL,
  { random, ...how }: UdpDialling,
  parent: AbortSignal,
  reached: (stage: Stage) => void,
): Promise<Socket> {
  const deadline = startDeadline(how.clock, how.timeoutMs, parent)
  try {
    reached('resolve')
    const addresses = await addressesOf(hostOf(url), how, deadline.signal)
    reached('connect')
    const address = addresses[(random.bytes(1)[0] ?? 0) % addresses.length] ?? ''
    return await connected(address, Number(url.port), how.allows, deadline.signal)
  } finally {
    deadline.cancel()
  }
}

async function connected(
  address: string,
  port: number,
  allows: Dialling['allows'],
  signal: AbortSignal,
): Promise<Socket> {
  const type = isIPv6(address) ? 'udp6' : 'udp4'
  const socket = createSocket({ type, recvBufferSize: BUFFER_BYTES, sendBufferSize: BUFFER_BYTES })
  try {
    socket.connect(port, address)
    await once(socket, 'connect', { signal })
    const peer = socket.remoteAddress().address
    if (!allows(peer)) throw notAllowed(peer)
    return socket
  } catch (error) {
    socket.close()
    throw signal.aborted ? signal.reason : error
  }
}
