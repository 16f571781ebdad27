import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { messageReader } from '../../src/media/relay/transport/tcp.ts'
import type { Wire } from './wirePeer.ts'

/** A socket to the media port of a server on this machine, for one peer. It counts the media that passes it. */
export interface SocketWire extends Wire {
  /** Bytes of SRTP and SRTCP: to the server, and from it. */
  readonly carried: { readonly up: number; readonly down: number }
  /** Connects to the port that this answer names for its transport. */
  open(answer: string): Promise<void>
  close(): void
}

interface Line {
  /** @param take called with each message that arrives */
  receive(take: (message: Buffer) => void): unknown
  send(message: Buffer): void
  close(): void
}

/** Media has this first byte (RFC 7983). The others are connectivity checks and handshakes. */
const isMedia = (datagram: Buffer): boolean => ((datagram[0] ?? 0) & 0xc0) === 0x80

/** The port of the host candidates of this transport. NaN: there are none. */
export const portIn = (transport: 'udp' | 'tcp', answer: string): number =>
  Number(new RegExp(`a=candidate:\\S+ 1 ${transport} \\d+ \\S+ (\\d+) typ host`).exec(answer)?.[1])

export function socketWire(transport: 'udp' | 'tcp'): SocketWire {
  const carried = { up: 0, down: 0 }
  let take: (datagram: Buffer) => void = () => undefined
  let line: Line | null = null
  return {
    carried,
    get nowMs() {
      return Date.now()
    },
    async open(answer) {
      const port = portIn(transport, answer)
      line = await (transport === 'udp' ? udpLine(port) : tcpLine(port))
      line.receive((datagram) => {
        if (isMedia(datagram)) carried.down += datagram.length
        take(datagram)
      })
    },
    listen: (_at, taker) => void (take = taker),
    send(datagram) {
      if (isMedia(datagram)) carried.up += datagram.length
      line?.send(datagram)
    },
    close: () => line?.close(),
  }
}

async function udpLine(port: number): Promise<Line> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  // An ICMP message, when the server is gone.
  socket.on('error', () => undefined)
  return {
    receive: (take) => socket.on('message', take),
    send: (datagram) => socket.send(datagram),
    close: () => socket.close(),
  }
}

/** Each message has its length in front (RFC 4571). */
async function tcpLine(port: number): Promise<Line> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  return {
    receive: (take) => socket.on('data', messageReader(take)),
    send(message) {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(message.length)
      socket.write(Buffer.concat([length, message]))
    },
    close: () => socket.destroy(),
  }
}
