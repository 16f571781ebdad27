import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { ByAddress, type CrowdLimits } from '../../../base/byAddress.ts'
import { systemClock } from '../../../base/clock.ts'
import { watchedFor } from '../../../base/lateLooks.ts'
import { OwnTurns } from '../../../base/turns.ts'
import { addressKeyOf, networkKey } from '../../../core/access/address.ts'
import type { Endpoint } from './socket.ts'

/** ICE over TCP (RFC 6544), for peers that cannot send UDP. We are the passive side. */
export interface TcpPort {
  /** Best effort as over UDP: drops the message of a peer that does not read. */
  send(message: Uint8Array, to: Endpoint): void
  /** Closes this connection after its pending data. */
  release(at: Endpoint): void
  /** Listens at these addresses instead. Connections stay. One call at a time. */
  follow(addresses: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** `Endpoint.via` of the first connection. Below are the UDP sockets. */
export const FIRST_VIA = 1 << 20
/** One more connection, or one more of its address, replaces the oldest one of these without an answer. */
const MAX_CONNECTIONS = 2000
/** Four addresses are needed to keep all others out. A quarter is still an office of 500 viewers behind one address. */
const ADDRESS_SHARE = 0.25
/** A connection is closed after this time without an answer, because no authentic check came, or in silence. */
const UNKNOWN_MS = 10_000
const SILENT_MS = 30_000
/** Messages before the first answer. Honest peers send some 20 checks in a second. */
const MAX_UNKNOWN_MESSAGES = 500
/** A read of a stream has some 60 messages of a kilobyte. After one with more, a connection reads on in a turn of its own. */
const MANY_MESSAGES = 256
/** No datagram of ours or of an honest peer is larger. What a publisher of another protocol calls audio may be. */
const MAX_MESSAGE = 4096
/** A second of a fast stream. A slower peer requests retransmissions or gets a keyframe. */
const MAX_WAITING_BYTES = 1 << 20
/** Of all peers that do not read: each has its share. */
const MAX_ALL_WAITING_BYTES = 128 << 20
const BACKLOG = 256

/** Of this process. Node reads two megabytes of a connection before it turns to others, which may be 700,000 messages. */
const turns = new OwnTurns()

export const isTcp = ({ via }: Endpoint): boolean => via >= FIRST_VIA

export interface TcpOptions {
  readonly addresses: readonly string[]
  readonly port: number
  readonly maxConnections?: number
  /** Of one address; an IPv6 network is one. */
  readonly maxPerAddress?: number
  /** What waits for all peers together. */
  readonly maxWaitingBytes?: number
  /** See `UNKNOWN_MS` and `SILENT_MS`. */
  readonly unknownMs?: number
  readonly silentMs?: number
}

/**
 * Listens on `port` at each of `addresses`. Calls `receive` for each message, which over TCP has its length in front
 * (RFC 4571).
 * @throws the error of the socket when the port is taken
 */
export async function openTcp(
  {
    addresses,
    port,
    maxConnections = MAX_CONNECTIONS,
    maxPerAddress = Math.ceil(maxConnections * ADDRESS_SHARE),
    maxWaitingBytes = MAX_ALL_WAITING_BYTES,
    unknownMs = UNKNOWN_MS,
    silentMs = SILENT_MS,
  }: TcpOptions,
  receive: (message: Buffer, from: Endpoint) => void,
): Promise<TcpPort> {
  /** By `Endpoint.via`. */
  const connections = new Map<number, Socket>()
  const crowd = new ByAddress<Socket>(networkKey)
  /** Those without an answer: each of them may give way to another connection. */
  const unknown = new ByAddress<Socket>(networkKey)
  let nextVia = FIRST_VIA
  const accept = (socket: Socket): void => {
    const address = addressKeyOf(socket.remoteAddress ?? '')
    if (!makeRoom(crowd, unknown, address, { ofAddress: maxPerAddress, ofAll: maxConnections })) {
      socket.destroy()
      return
    }
    const via = nextVia++
    connections.set(via, socket)
    crowd.add(socket, address)
    unknown.add(socket, address)
    socket.once('close', () => {
      connections.delete(via)
      crowd.delete(socket)
      unknown.delete(socket)
    })
    limitTime(socket, unknownMs, silentMs)
    serve(socket, via, receive)
  }
  const servers = new Map<string, Server>()
  try {
    for (const address of addresses) servers.set(address, await listen(address, port, accept))
  } catch (error) {
    await closeAll(servers)
    throw error
  }
  return {
    send: (message, { via }) => {
      const socket = connections.get(via)
      if (socket === undefined) return
      unknown.delete(socket)
      write(socket, message, Math.min(MAX_WAITING_BYTES, maxWaitingBytes / connections.size))
    },
    release: ({ via }) => connections.get(via)?.destroySoon(),
    follow: async (wanted) => {
      for (const [address, server] of servers) {
        if (wanted.includes(address)) continue
        servers.delete(address)
        server.close()
      }
      for (const address of wanted) {
        const server = servers.has(address) ? undefined : await listen(address, port, accept).catch(() => undefined)
        if (server !== undefined) servers.set(address, server)
      }
    },
    close: () => {
      for (const socket of connections.values()) socket.destroy()
      return closeAll(servers)
    },
  }
}

/** Closes the oldest one of `unknown` where there are too many, without a look at the others: strangers connect. False: there is none. */
function makeRoom(crowd: ByAddress<Socket>, unknown: ByAddress<Socket>, address: string, limits: CrowdLimits): boolean {
  const full = crowd.crowdFor(address, limits)
  if (full === null) return true
  const [oldest] = full === crowd ? unknown : full === crowd.of(address) ? unknown.of(address) : unknown.around(address)
  if (oldest === undefined) return false
  crowd.delete(oldest)
  unknown.delete(oldest)
  oldest.destroy()
  return true
}

const isUnknown = ({ bytesWritten }: Socket): boolean => bytesWritten === 0

async function listen(host: string, port: number, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, accept)
  const listening = once(server, 'listening')
  server.listen({ host, port, backlog: BACKLOG, ipv6Only: true })
  await listening
  return server
}

async function closeAll(servers: ReadonlyMap<string, Server>): Promise<void> {
  await Promise.all(
    Array.from(servers.values(), (server) => new Promise<void>((resolve) => server.close(() => resolve()))),
  )
}

/** A peer that lost its connection is noticed by its silence, as over UDP. */
function limitTime(socket: Socket, unknownMs: number, silentMs: number): void {
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  watchedFor(systemClock, unknownMs, closed.signal).then(
    () => isUnknown(socket) && socket.destroy(),
    () => undefined,
  )
  // After a pause of this process the first timeout comes before what waits in the socket is read.
  let readBytes = -1
  socket.setTimeout(silentMs / 2).on('timeout', () => {
    if (socket.bytesRead === readBytes) socket.destroy()
    else socket.setTimeout(silentMs / 2)
    readBytes = socket.bytesRead
  })
}

function serve(socket: Socket, via: number, receive: (message: Buffer, from: Endpoint) => void): void {
  const from: Endpoint = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0, via }
  let [messages, unknown] = [0, 0]
  const mayTake = (): boolean => {
    messages += 1
    if (isUnknown(socket) && ++unknown > MAX_UNKNOWN_MESSAGES) socket.destroy()
    return !socket.destroyed
  }
  const read = messageReader((message) => receive(message, from), mayTake)
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    messages = 0
    if (!read(chunk)) socket.destroy()
    if (messages <= MANY_MESSAGES) return
    socket.pause()
    setImmediate(() => turns.take(() => void socket.resume()))
  })
}

/**
 * Cuts a stream of bytes into messages. The returned function returns false if the stream is malformed.
 * @param mayTake called before each message, also before one without content
 */
export function messageReader(
  take: (message: Buffer) => void,
  mayTake: () => boolean = () => true,
): (chunk: Buffer) => boolean {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (bytes.length >= 2 && mayTake()) {
      const length = bytes.readUInt16BE(0)
      if (length > MAX_MESSAGE) return false
      if (bytes.length < 2 + length) break
      if (length > 0) take(bytes.subarray(2, 2 + length))
      bytes = bytes.subarray(2 + length)
    }
    rest = bytes
    return true
  }
}

function write(socket: Socket, message: Uint8Array, maxWaitingBytes: number): void {
  if (!socket.writable || message.length > MAX_MESSAGE) return
  if (socket.writableLength > maxWaitingBytes) return
  const framed = Buffer.allocUnsafe(2 + message.length)
  framed.writeUInt16BE(message.length, 0)
  framed.set(message, 2)
  socket.write(framed)
}
