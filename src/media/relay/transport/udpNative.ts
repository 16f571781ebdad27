import { SocketAddress } from 'node:net'
import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { BoundSockets } from './boundSockets.ts'
import { BUFFER_BYTES, type Endpoint, onOnePort, type Receive, type UdpPort } from './socket.ts'
import { formatIpv4 } from '../../../base/ipText.ts'
import { addressBytes } from '../wire/address.ts'

/** What native/udp.c exports. Sockets are their descriptors; a wrong argument makes it throw a TypeError. */
export interface UdpAddon {
  /** `address`: 4 bytes for IPv4, 16 for IPv6. Returns the descriptor, or an error of the system, which is negative. */
  open(address: Buffer, port: number, bufferBytes: number): number
  port(fd: number): number
  /** Calls `wake` with the number of datagrams that it received into the slots of `memory`, with a head for each in `heads`. */
  watch(fd: number, memory: Buffer, heads: Buffer, wake: (count: number) => void): void
  /** Reads without waiting; returns how many datagrams it read. */
  receive(fd: number): number
  /** Whether the kernel took it. */
  send(fd: number, datagram: Uint8Array, address: Buffer, port: number): boolean
  close(fd: number): void
}

/** As in native/udp.c: datagrams per call, bytes for each, and 32-bit words of its head. */
const SLOTS = 32
const SLOT_BYTES = 2048
const HEAD_WORDS = 6
/** The largest payload of a UDP datagram over IPv4. The addon throws at more. */
const MAX_DATAGRAM = 65_507
/** The first word has the length in its lower bits, and the milliseconds that the datagram waited above them. */
const LENGTH_BITS = 12
const LENGTH_MASK = (1 << LENGTH_BITS) - 1

/** A port whose sockets are the addon's. */
export interface NativeUdpPort extends UdpPort {
  /** Of its sockets, by `Endpoint.via`; undefined where one was closed. */
  readonly descriptors: readonly (number | undefined)[]
}

/**
 * The port like that of `openUdp`, by the addon.
 * @throws an error like that of a socket when the port is taken
 */
export async function openNativeUdp(
  addon: UdpAddon,
  options: { host: string; port: number },
  receive: Receive,
): Promise<NativeUdpPort> {
  const binder = {
    bind: async (address: string, at: number) => bind(addon, address, at),
    portOf: (fd: number) => addon.port(fd),
    close: async (fd: number) => addon.close(fd),
  }
  const areV6: boolean[] = []
  const bound = new BoundSockets(binder, await onOnePort(options, binder), (fd, via, address) => {
    areV6[via] = address.includes(':')
    listen(addon, fd, address.includes(':'), via, receive)
  })
  return {
    port: bound.port,
    get addresses() {
      return bound.addresses
    },
    descriptors: bound.sockets,
    follow: (addresses) => bound.follow(addresses),
    send: (datagram, { address, port: to, via }) => {
      const [fd, bytes] = [bound.sockets[via], addressBytes(address)]
      const isReachable = bytes !== null && (bytes.length === 16) === areV6[via]
      if (fd !== undefined && isReachable && datagram.length <= MAX_DATAGRAM) addon.send(fd, datagram, bytes, to)
    },
    close: () => bound.close(),
  }
}

function bind(addon: UdpAddon, address: string, port: number): number {
  const bytes = addressBytes(address)
  const fd = bytes === null ? -constants.errno.EADDRNOTAVAIL : addon.open(bytes, port, BUFFER_BYTES)
  if (fd >= 0) return fd
  const code = getSystemErrorName(fd)
  throw Object.assign(new Error(`bind ${code} ${address}:${port}`), { code, syscall: 'bind', address, port })
}

function listen(addon: UdpAddon, fd: number, isSix: boolean, via: number, receive: Receive): void {
  const inlet = new Inlet(isSix, via)
  addon.watch(fd, inlet.memory, inlet.headBytes, (count) => inlet.each(count, receive))
}

/** Reads the datagrams of one socket. */
class Inlet {
  readonly memory = Buffer.alloc(SLOTS * SLOT_BYTES)
  readonly headBytes: Buffer
  readonly #heads = new Uint32Array(SLOTS * HEAD_WORDS)
  readonly #isSix: boolean
  readonly #via: number
  /** Known senders, by address and port: most datagrams come from few. */
  readonly #endpoints = new Map<number | string, Endpoint>()

  constructor(isSix: boolean, via: number) {
    this.headBytes = Buffer.from(this.#heads.buffer)
    this.#isSix = isSix
    this.#via = via
  }

  each(count: number, receive: Receive): void {
    for (let slot = 0; slot < count; slot++) {
      const word = this.#heads[slot * HEAD_WORDS] ?? 0
      const length = word & LENGTH_MASK
      const at = slot * SLOT_BYTES
      if (length > 0)
        receive(this.memory.subarray(at, at + length), this.#from(slot * HEAD_WORDS), word >>> LENGTH_BITS)
    }
  }

  #from(head: number): Endpoint {
    const [port = 0, first = 0] = [this.#heads[head + 1], this.#heads[head + 2]]
    const key = this.#isSix ? this.#heads.subarray(head + 1, head + HEAD_WORDS).join() : first * 0x10000 + port
    return this.#endpoints.get(key) ?? this.#remember(key, port, this.#heads.subarray(head + 2, head + HEAD_WORDS))
  }

  #remember(key: number | string, port: number, words: Uint32Array): Endpoint {
    const from = { address: this.#isSix ? textOfV6(words) : textOfV4(words), port, via: this.#via }
    if (this.#endpoints.size >= MAX_ENDPOINTS) this.#endpoints.clear()
    this.#endpoints.set(key, from)
    return from
  }
}

/** Cached endpoints. Beyond that they are created again; a peer with many addresses gains nothing. */
const MAX_ENDPOINTS = 4096

const textOfV4 = ([word = 0]: Uint32Array): string => formatIpv4(word)

function textOfV6(words: Uint32Array): string {
  const groups = Array.from(words).flatMap((word) => [word >>> 16, word & 0xffff])
  const address = groups.map((group) => group.toString(16)).join(':')
  return new SocketAddress({ address, family: 'ipv6' }).address
}

/** Sends datagrams of critical sizes from one socket of the addon to another, and compares. */
export function carriesAlike(addon: UdpAddon): boolean {
  const sizes = [1, 1200, SLOT_BYTES, SLOT_BYTES + 1, 77]
  const [from, to] = [addon.open(LOOPBACK, 0, BUFFER_BYTES), addon.open(LOOPBACK, 0, BUFFER_BYTES)]
  if (from < 0 || to < 0) return false
  const inlet = new Inlet(false, 0)
  const came: Buffer[] = []
  try {
    addon.watch(to, inlet.memory, inlet.headBytes, () => undefined)
    const areSent = sizes.every((size) => addon.send(from, Buffer.alloc(size, size), LOOPBACK, addon.port(to)))
    inlet.each(addon.receive(to), (datagram, { address, port }) => {
      if (address === '127.0.0.1' && port === addon.port(from)) came.push(Buffer.from(datagram))
    })
    const fitting = sizes.filter((size) => size <= SLOT_BYTES)
    return areSent && Buffer.concat(came).equals(Buffer.concat(fitting.map((size) => Buffer.alloc(size, size))))
  } finally {
    for (const fd of [from, to]) addon.close(fd)
  }
}

const LOOPBACK = Buffer.from([127, 0, 0, 1])
