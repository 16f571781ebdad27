import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** A proxy between peers and a UDP port of this machine that drops packets, as a bad network does. */
export interface LossyLink {
  /** The port that peers send to. */
  readonly port: number
  /** Sets the share of packets to drop in each direction. */
  lose(share: number): void
  /** Lets each packet take this long in each direction, in milliseconds. */
  delay(ms: number): void
  /** Limits the rate towards peers, in bits per second; null: no limit. */
  limit(bitrate: number | null): void
  /** The bytes that have passed towards peers. */
  carried(): number
  /** Gives peers new source ports and drops packets to the old ones, as a router does that forgets them. */
  rebind(): void
  close(): void
}

/** The longest queue in front of a slow link; the rest is dropped, as routers do. */
const MAX_WAIT_MS = 300
/** Further senders are not served. */
const MAX_PEERS = 1024

/** Where it is in front of, and where peers send to. */
interface Place {
  readonly targetAddress?: string
  readonly address?: string
  /** 0: any that is free. */
  readonly port?: number
}

const LOOPBACK = '127.0.0.1'

/** `seed` and the order of packets alone determine which packets are lost. */
export async function lossyLink(
  target: number,
  seed: number,
  { targetAddress = LOOPBACK, address = LOOPBACK, port: frontPort = 0 }: Place = {},
): Promise<LossyLink> {
  const front = await bound(address, frontPort)
  /** By address and port. */
  const peers = new Map<string, Promise<Socket>>()
  const random = seeded(seed)
  let share = 0
  let isOpen = true
  let delayMs = 0
  let carried = 0
  let bytesPerMs = Number.POSITIVE_INFINITY
  const isLost = (): boolean => random() < share
  const later = (ms: number, step: () => void): void => void (ms < 1 ? step() : setTimeout(step, ms))
  const meet = async ({ port, address: peer }: { port: number; address: string }): Promise<Socket> => {
    const back = await bound()
    let freeAtMs = 0
    const deliver = (packet: Buffer): void => {
      carried += packet.length
      if (isOpen) front.send(packet, port, peer)
    }
    back.on('message', (packet) => {
      const nowMs = performance.now()
      const waitsMs = Math.max(0, freeAtMs - nowMs)
      if (isLost() || waitsMs > MAX_WAIT_MS) return
      freeAtMs = nowMs + waitsMs + packet.length / bytesPerMs
      later(freeAtMs - nowMs + delayMs, () => deliver(packet))
    })
    return back
  }
  front.on('message', (packet, from) => {
    const peer = `${from.address} ${from.port}`
    if (!peers.has(peer) && peers.size === MAX_PEERS) return
    const back = peers.get(peer) ?? meet(from)
    peers.set(peer, back)
    if (isLost()) return
    const pass = (socket: Socket): unknown =>
      isOpen && peers.get(peer) === back && socket.send(packet, target, targetAddress)
    later(delayMs, () => void back.then(pass))
  })
  return {
    port: front.address().port,
    lose: (wanted) => void (share = wanted),
    delay: (wanted) => void (delayMs = wanted),
    limit: (wanted) => void (bytesPerMs = (wanted ?? Number.POSITIVE_INFINITY) / 8000),
    carried: () => carried,
    rebind() {
      for (const back of peers.values()) void back.then((socket) => socket.close())
      peers.clear()
    },
    close() {
      isOpen = false
      front.close()
      for (const back of peers.values()) void back.then((socket) => socket.close())
    },
  }
}

async function bound(address = LOOPBACK, port = 0): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(port, address)
  await once(socket, 'listening')
  return socket
}

/** From 0 to 1, the same for the same seed (xorshift, Marsaglia 2003). */
export function seeded(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
