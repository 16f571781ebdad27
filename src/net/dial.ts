import { httpPort } from '../base/httpPort.ts'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { type Clock, untilAborted } from '../base/clock.ts'
import { coded } from '../core/notices.ts'
import { hostOf, isAddress } from '../core/validation/outboundUrl.ts'
import { startDeadline } from './deadline.ts'
import { ExchangeFailed } from './failures.ts'
import type { Stage } from './outcome.ts'
import type { ResolveName } from './resolve.ts'

export interface Dialling {
  readonly clock: Clock
  readonly resolve: ResolveName
  /**
   * Whether this address may be dialled. It is called with every address of the name, and again with the connected
   * one.
   */
  readonly allows: (address: string) => boolean
  /** For name resolution, connection and TLS handshake together. */
  readonly timeoutMs: number
  /** Undefined: the certificate authorities that Node trusts. */
  readonly trust: SecureContext | undefined
  /** Protocols offered over TLS (ALPN, RFC 7301); empty: none are offered. */
  readonly protocols: readonly string[]
}

/** The most addresses that are tried for one name. They share the time. */
const ADDRESSES_TRIED = 4

/**
 * Opens a connection to the host of `url`, on an allowed address, ready to write. The name is resolved once and the
 * connection goes to an address of that answer, so a second, different answer of the name server (DNS rebinding) has
 * no effect.
 * @param reached is called as each stage begins
 * @throws ExchangeFailed, or an error of Node
 */
export async function dial(
  url: URL,
  how: Dialling,
  parent: AbortSignal,
  reached: (stage: Stage) => void,
): Promise<Socket> {
  const deadline = startDeadline(how.clock, how.timeoutMs, parent)
  try {
    reached('resolve')
    const addresses = await addressesOf(hostOf(url), how, deadline.signal)
    reached('connect')
    const socket = await connectToAny(addresses, httpPort(url), how, deadline.signal)
    if (url.protocol !== 'https:') return socket
    reached('tls')
    return await secure(socket, hostOf(url), how, deadline.signal)
  } finally {
    deadline.cancel()
  }
}

/** The allowed addresses of a host. One forbidden address refuses the whole name: no legitimate host mixes the two. */
export async function addressesOf(
  host: string,
  how: Pick<Dialling, 'resolve' | 'allows'>,
  signal: AbortSignal,
): Promise<string[]> {
  const addresses = isAddress(host) ? [host] : await untilAborted(how.resolve(host, signal), signal)
  const forbidden = addresses.find((address) => !how.allows(address))
  if (forbidden !== undefined) throw notAllowed(forbidden)
  if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' })
  return addresses.slice(0, ADDRESSES_TRIED)
}

export const notAllowed = (address: string): ExchangeFailed =>
  new ExchangeFailed({
    stage: 'refused',
    code: 'target_not_allowed',
    sentence: coded('request_not_public', { address }),
  })

/**
 * Tries one address after the other. Each gets its share of the time, so an unreachable first one leaves time for
 * the others.
 */
async function connectToAny(
  addresses: readonly string[],
  port: number,
  how: Dialling,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown
  for (const address of addresses) {
    const share = startDeadline(how.clock, how.timeoutMs / addresses.length, signal)
    try {
      return await connectTo(address, port, how, share.signal)
    } catch (error) {
      failure = share.signal.aborted ? share.signal.reason : error
      if (signal.aborted || error instanceof ExchangeFailed) throw failure
    } finally {
      share.cancel()
    }
  }
  throw failure
}

async function connectTo(address: string, port: number, how: Dialling, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, noDelay: true })
  await readyOrDestroyed(socket, 'connect', signal)
  // The final check is on the socket: whatever happened above, nothing is written to a forbidden address.
  const peer = socket.remoteAddress ?? 'nobody'
  try {
    // It reads the addresses of this machine, for which this socket may have taken the last descriptor.
    if (how.allows(peer)) return socket
    throw notAllowed(peer)
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function secure(
  socket: Socket,
  host: string,
  { trust, protocols }: Dialling,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    host,
    // Server name indication allows names only (RFC 6066 section 3).
    ...(isAddress(host) ? {} : { servername: host }),
    ...(trust ? { secureContext: trust } : {}),
    ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
    // Set explicitly, because otherwise an environment variable could switch it off.
    rejectUnauthorized: true,
  })
  await readyOrDestroyed(secured, 'secureConnect', signal)
  return secured
}

async function readyOrDestroyed(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  // The socket keeps this listener until its end: a late error must not crash the process.
  socket.on('error', () => undefined)
  try {
    await once(socket, event, { signal })
  } catch (error) {
    socket.destroy()
    throw signal.aborted ? signal.reason : error
  }
}
