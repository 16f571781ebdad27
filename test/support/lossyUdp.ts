import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** A way between peers and a UDP port of this machine that loses packets, as a bad network does. */
export interface LossyWay {
  /** Where peers send to. */
  readonly port: number
  /** Bytes of datagrams that were passed on so far: from the peers, and to them. */
  readonly carried: { readonly up: number; readonly down: number }
  /** The share of the packets that is lost each way, from now on. */
  lose(share: number): void
  /** What goes to peers is no faster than this many bits per second from now on; null: as fast as it comes. */
  limit(bitrate: number | null): void
  /** Peers come from other ports from now on, and nothing reaches them at those before, as when a router forgets them. */
  rebind(): void
  close(): void
}

/** What would wait longer in front of a slow way is dropped, as routers do. */
const MAX_WAIT_MS = 300
/** Senders beyond this are not served. */
const MAX_PEERS = 1024

/** `seed`: which packets are lost follows from it, and from nothing else than their order. */
export async function lossyWay(target: number, seed: number): Promise<LossyWay> {
  const front = await bound()
  const peers = new Map<number, Promise<Socket>>()
  const random = seeded(seed)
  let share = 0
  const carried = { up: 0, down: 0 }
  let isOpen = true
  let bytesPerMs = Number.POSITIVE_INFINITY
  const isLost = (): boolean => random() < share
  const meet = async (port: number): Promise<Socket> => {
    const back = await bound()
    let freeAtMs = 0
    const deliver = (packet: Buffer): void => void (isOpen && front.send(packet, port, '127.0.0.1'))
    back.on('message', (packet) => {
      const nowMs = performance.now()
      const waitsMs = Math.max(0, freeAtMs - nowMs)
      if (isLost() || waitsMs > MAX_WAIT_MS) return
      freeAtMs = nowMs + waitsMs + packet.length / bytesPerMs
      carried.down += packet.length
      if (freeAtMs - nowMs < 1) deliver(packet)
      else setTimeout(deliver, freeAtMs - nowMs, packet)
    })
    return back
  }
  front.on('message', (packet, { port }) => {
    if (!peers.has(port) && peers.size === MAX_PEERS) return
    const back = peers.get(port) ?? meet(port)
    peers.set(port, back)
    if (isLost()) return
    carried.up += packet.length
    void back.then((socket) => peers.get(port) === back && socket.send(packet, target, '127.0.0.1'))
  })
  return {
    port: front.address().port,
    carried,
    lose: (wanted) => void (share = wanted),
    limit: (wanted) => void (bytesPerMs = (wanted ?? Number.POSITIVE_INFINITY) / 8000),
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

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket
}

/** A UDP port that is free now. */
export async function freeUdpPort(): Promise<number> {
  const socket = await bound()
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
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
