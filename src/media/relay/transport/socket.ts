import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Random } from '../../../base/random.ts'
import { type Binder, BoundSockets, type OnePort } from './boundSockets.ts'
import { SocketBacklog } from './lateness.ts'

/** The address of a peer, and the socket of ours that it reaches. */
export interface Endpoint {
  readonly address: string
  readonly port: number
  /** Our local address, or the TCP connection. Answers must leave from there: a peer accepts them from nowhere else. */
  readonly via: number
}

/** The UDP port of a relay process, at each address of this machine. */
export interface UdpPort {
  readonly port: number
  /** The addresses that it listens at. */
  readonly addresses: readonly string[]
  /**
   * Listens at these addresses instead. The socket of one that is gone stays for `GONE_MS`: the address may come back, and
   * sessions that use it end meanwhile. One that cannot be bound yet is tried with the next call.
   */
  follow(addresses: readonly string[]): Promise<void>
  /** Best effort: a datagram that does not fit into the socket's buffer is dropped, as on any network. */
  send(datagram: Uint8Array, to: Endpoint): void
  close(): Promise<void>
}

/** Room for bursts: a keyframe for hundreds of viewers is handed over at once. */
export const BUFFER_BYTES = 4 << 20
const MAX_ADDRESSES = 16
/** Datagrams that are handed over together. */
const MAX_WAITING = 64
/** A port that is free at one address may be taken at another. */
const ATTEMPTS = 10

/**
 * Handles a datagram. Its memory is reused after the call: keep a copy. `waitedMs`: how long it waited in the socket, where the
 * system says so; of a socket of Node at least how long, where it is not emptied.
 */
export type Receive = (datagram: Buffer, from: Endpoint, waitedMs?: number) => void

export interface UdpOptions {
  readonly host: string
  readonly port: number
  /** Makes what no peer can guess. */
  readonly random: Random
  /** Monotonic milliseconds. Absent: those of this process. */
  readonly now?: () => number
}

/**
 * Opens a port, at `host` or (when that is '') at every address of this machine. A single socket for all of them would do
 * for receiving, but the kernel would then choose the source address of each answer.
 * @throws the error of the socket when the port is taken
 */
export async function openUdp(options: UdpOptions, receive: Receive): Promise<UdpPort> {
  const binder = { bind, portOf: (socket: Socket) => socket.address().port, close: closed }
  const listen = (socket: Socket, via: number): void => {
    const probes = new Probes(socket, options)
    socket.on('message', (datagram, from) => {
      const waitedMs = probes.read(datagram)
      if (waitedMs !== 'probe') receive(datagram, { address: from.address, port: from.port, via }, waitedMs)
    })
    // The kernel reports the closed port of a peer here. It says nothing about other peers.
    socket.on('error', () => undefined)
  }
  const bound = new BoundSockets(binder, await onOnePort(options, binder), listen)
  const outbox = new Outbox(bound.sockets)
  return {
    port: bound.port,
    get addresses() {
      return bound.addresses
    },
    follow: (addresses) => bound.follow(addresses),
    send: (datagram, to) => outbox.put(datagram, to),
    close: () => {
      outbox.flush()
      return bound.close()
    },
  }
}

const SECRET_BYTES = 16
const PROBE_BYTES = SECRET_BYTES + 8

/** Measures how long datagrams wait in a socket, by probes that no peer can make. */
class Probes {
  readonly #backlog = new SocketBacklog()
  readonly #secret: Buffer
  readonly #socket: Socket
  readonly #now: () => number
  #isClosed = false

  constructor(socket: Socket, { random, now = () => performance.now() }: UdpOptions) {
    this.#socket = socket
    this.#secret = random.bytes(SECRET_BYTES)
    this.#now = now
    socket.once('close', () => (this.#isClosed = true))
  }

  /** A datagram is read. See `SocketBacklog.waitedMs`. */
  read(datagram: Buffer): number | undefined | 'probe' {
    if (this.#backlog.read()) setImmediate(() => this.#turned())
    const nowMs = this.#now()
    if (!this.#isProbe(datagram)) return this.#backlog.waitedMs(nowMs)
    this.#backlog.probed(datagram.readDoubleBE(SECRET_BYTES), nowMs)
    return 'probe'
  }

  #isProbe(datagram: Buffer): boolean {
    return datagram.length === PROBE_BYTES && datagram.subarray(0, SECRET_BYTES).equals(this.#secret)
  }

  #turned(): void {
    const nowMs = this.#now()
    if (!this.#backlog.turned(nowMs) || this.#isClosed) return
    const probe = Buffer.alloc(PROBE_BYTES)
    this.#secret.copy(probe)
    probe.writeDoubleBE(nowMs, SECRET_BYTES)
    const { address, port } = this.#socket.address()
    this.#socket.send(probe, port, address)
  }
}

/** Binds the same port at each address; with port 0 one that is free at all of them. */
export async function onOnePort<S>(
  { host, port }: { host: string; port: number },
  binder: Binder<S>,
): Promise<OnePort<S>> {
  const addresses = host === '' ? preferredAddresses(networkInterfaces()) : [host]
  for (let attempt = 1; ; attempt++) {
    try {
      return await bindAll(addresses, port, binder)
    } catch (error) {
      if (port !== 0 || attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * Queues outgoing datagrams, and sends those of one turn together at its end. Sealing for all viewers and then sending to all
 * costs a tenth less than doing both for one after another, because the code of each stays in the processor's caches.
 */
class Outbox {
  readonly #sockets: readonly (Socket | undefined)[]
  #datagrams: Uint8Array[] = []
  #to: Endpoint[] = []

  constructor(sockets: readonly (Socket | undefined)[]) {
    this.#sockets = sockets
  }

  put(datagram: Uint8Array, to: Endpoint): void {
    this.#to.push(to)
    const waiting = this.#datagrams.push(datagram)
    if (waiting === 1) queueMicrotask(() => this.flush())
    else if (waiting === MAX_WAITING) this.flush()
  }

  flush(): void {
    const [datagrams, to] = [this.#datagrams, this.#to]
    if (datagrams.length === 0) return
    this.#datagrams = []
    this.#to = []
    for (const [at, datagram] of datagrams.entries()) this.#send(datagram, to[at])
  }

  #send(datagram: Uint8Array, to: Endpoint | undefined): void {
    const socket = to && this.#sockets[to.via]
    // Port 0 is not a destination, and Node throws at it.
    if (to?.port === 0) return
    // A datagram that the kernel does not take at once would wait in our memory. A queue beyond its buffer is useless.
    if (socket && socket.getSendQueueSize() < BUFFER_BYTES) socket.send(datagram, to.port, to.address)
  }
}

async function bindAll<S>(addresses: readonly string[], port: number, binder: Binder<S>): Promise<OnePort<S>> {
  const sockets: S[] = []
  let bound = port
  try {
    for (const address of addresses) {
      const socket = await binder.bind(address, bound)
      sockets.push(socket)
      bound = binder.portOf(socket)
    }
    return { addresses, sockets, port: bound }
  } catch (error) {
    await closeAll(sockets, binder.close)
    throw error
  }
}

async function bind(host: string, port: number): Promise<Socket> {
  const family = isIPv4(host) ? 4 : 6
  const socket = createSocket({
    type: `udp${family}`,
    ipv6Only: family === 6,
    recvBufferSize: BUFFER_BYTES,
    sendBufferSize: BUFFER_BYTES,
    // Addresses come from the socket itself: there is nothing to look up, and nothing to wait for.
    lookup: (address, _options, found) => found(null, address, family),
  })
  const listening = once(socket, 'listening')
  socket.bind(port, host)
  try {
    await listening
    return socket
  } catch (error) {
    // Node keeps the descriptor of a socket that it could not bind.
    socket.close()
    throw error
  }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.close(() => resolve()))

async function closeAll<S>(sockets: readonly S[], close: (socket: S) => Promise<void>): Promise<void> {
  await Promise.all(sockets.map(close))
}

/** Those that others reach first, IPv4 before IPv6; the loopback last. Link-local IPv6 needs a zone and is left out. */
export function preferredAddresses(byName: ReturnType<typeof networkInterfaces>): string[] {
  const all = Object.values(byName).flatMap((interfaces) => interfaces ?? [])
  const usable = all.filter(({ address }) => !address.startsWith('fe80:'))
  const rank = ({ internal, family }: { internal: boolean; family: string }): number =>
    (internal ? 2 : 0) + (family === 'IPv4' ? 0 : 1)
  const sorted = usable.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_ADDRESSES)
  return sorted.length > 0 ? sorted.map(({ address }) => address) : ['127.0.0.1']
}
