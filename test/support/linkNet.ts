import { systemRandom } from '../../src/base/random.ts'
import { createJsFanout } from '../../src/media/relay/forward/fanout.ts'
import { RtpTrack } from '../../src/media/relay/forward/rtpTrack.ts'
import { BitrateMeter } from '../../src/media/relay/forward/source.ts'
import { Links } from '../../src/media/relay/link/links.ts'
import { NodeShares } from '../../src/media/relay/link/nodeShares.ts'
import { DownTrack } from '../../src/media/relay/outbound/downTrack.ts'
import { Viewer } from '../../src/media/relay/outbound/viewer.ts'
import { Rooms } from '../../src/media/relay/rooms.ts'
import type { RtpHead } from '../../src/media/relay/srtp/writer.ts'
import type { Endpoint } from '../../src/media/relay/transport/socket.ts'
import { seeded } from './lossyUdp.ts'

/** A layer of video. */
export interface ModelLayer {
  /** Packets of a frame, and the bytes of each. */
  readonly packets: number
  readonly bytes: number
}

/** The way from one node to the other, in each direction. */
export interface ModelNetwork {
  /** The share of packets that get lost, 0 to 1. */
  loss: number
  /** Milliseconds in one direction. */
  delayMs: number
  /** Bits per second towards the viewers; null: no limit. */
  bitrate: number | null
  /** The longest queue in front of that limit, milliseconds. The rest is dropped. */
  queueMs: number
}

/** A frame that a viewer could show: it is complete, and so is all before it. */
interface ShownFrame {
  readonly atMs: number
  /** 0: the largest. */
  readonly layer: number
}

const ROOM = 'a/show'
const START_MS = 1_750_000_000_000
const [FRAME_MS, PACE_MS, SLOW_MS] = [40, 20, 200]
/** From a request for a keyframe to its frame. */
const ASK_MS = 40
const [HOME, EDGE] = [8081, 8082]
const KEY = Buffer.alloc(32, 5)
const SSRC = 2 ** 31 + 7
const endpointAt = (port: number): Endpoint => ({ address: '192.0.2.1', port, via: 0 })

/** What waits for its time, in the order in which it came. */
class Agenda {
  nowMs = START_MS
  readonly #due = new Map<number, (() => void)[]>()

  at(ms: number, step: () => void): void {
    const due = Math.max(this.nowMs + 1, Math.ceil(ms))
    const steps = this.#due.get(due)
    if (steps === undefined) this.#due.set(due, [step])
    else steps.push(step)
  }

  pass(ms: number): void {
    for (const untilMs = this.nowMs + ms; this.nowMs < untilMs; ) {
      this.nowMs += 1
      for (const step of this.#due.get(this.nowMs) ?? []) step()
      this.#due.delete(this.nowMs)
    }
  }
}

interface ReceivedPacket {
  readonly isStart: boolean
  readonly isKey: boolean
  readonly marker: boolean
  readonly layer: number
}

/** What a viewer can show of the packets that it gets: complete frames in their order, or from a complete keyframe on. */
class Screen {
  readonly shown: ShownFrame[] = []
  /** Packets of frames that were never shown. */
  missing = 0
  readonly #packets = new Map<number, ReceivedPacket>()
  readonly #agenda: Agenda
  /** -1: none has come. */
  #next = -1

  constructor(agenda: Agenda) {
    this.#agenda = agenda
  }

  sendRtp({ index, marker }: RtpHead, payload: Buffer): void {
    if (index < this.#next) return
    const isStart = payload[0] === 0x10
    this.#packets.set(index, { isStart, isKey: isStart && payload[1] === 0x10, marker, layer: payload[LAYER_AT] ?? 0 })
    if (this.#next < 0) this.#next = index
    this.#skipTo(index)
    this.#show()
  }

  /** The layer of the last frame; undefined: there is none. */
  get layer(): number | undefined {
    return this.shown.at(-1)?.layer
  }

  /** The packet may complete a keyframe. */
  #skipTo(index: number): void {
    let first = index
    while (this.#packets.get(first)?.isStart === false) first -= 1
    if (first <= this.#next || this.#packets.get(first)?.isKey !== true) return
    let last = index
    while (this.#packets.get(last)?.marker === false) last += 1
    if (!this.#packets.has(last)) return
    for (; this.#next < first; this.#next += 1) if (!this.#packets.delete(this.#next)) this.missing += 1
  }

  #show(): void {
    for (let one = this.#packets.get(this.#next); one !== undefined; one = this.#packets.get(this.#next)) {
      this.#packets.delete(this.#next)
      this.#next += 1
      if (one.marker) this.shown.push({ atMs: this.#agenda.nowMs - START_MS, layer: one.layer })
    }
  }
}

const MEDIA = 7
const LAYER_AT = 7

/**
 * Two nodes with a link between them in a network that is a model: all of the relay that a link consists of, in virtual time. The seed
 * alone determines what is lost.
 */
export function linkNet(seed: number, layers: readonly ModelLayer[], over: Partial<ModelNetwork> = {}) {
  const agenda = new Agenda()
  const random = seeded(Math.imul(seed, 0x9e3779b1))
  // The first numbers of near seeds are alike.
  for (let skip = 0; skip < 8; skip += 1) random()
  const network: ModelNetwork = { loss: 0, delayMs: 30, bitrate: null, queueMs: 300, ...over }
  const carried = { down: 0, up: 0, downPackets: 0, upPackets: 0 }
  let freeAtMs = 0
  const down = (datagram: Uint8Array): void => {
    carried.down += datagram.length
    carried.downPackets += 1
    const { loss, delayMs, bitrate, queueMs } = network
    const waitsMs = Math.max(0, freeAtMs - agenda.nowMs)
    if (random() < loss || (bitrate !== null && waitsMs > queueMs)) return
    if (bitrate !== null) freeAtMs = agenda.nowMs + waitsMs + (datagram.length * 8000) / bitrate
    arrive(edge, datagram, bitrate === null ? agenda.nowMs + delayMs : freeAtMs + delayMs, HOME)
  }
  const up = (datagram: Uint8Array): void => {
    carried.up += datagram.length
    carried.upPackets += 1
    if (random() >= network.loss) arrive(home, datagram, agenda.nowMs + network.delayMs, EDGE)
  }
  const arrive = (node: Node, datagram: Uint8Array, atMs: number, from: number): void => {
    const copy = Buffer.from(datagram)
    agenda.at(atMs, () => node.shares.receive(copy, endpointAt(from), agenda.nowMs, false))
  }
  const nodeOf = (send: (datagram: Uint8Array) => void) => {
    const rooms = new Rooms()
    const fault = (error: unknown): never => {
      throw error
    }
    const common = { native: null, send, fault }
    const links = new Links(
      { ...common, process: 0, port: 0, random: systemRandom, post: () => undefined },
      rooms,
      createJsFanout,
    )
    const heard: ConstructorParameters<typeof NodeShares>[0]['heard'] = (peer, message) =>
      links.heard(peer, message, agenda.nowMs)
    const shares = new NodeShares({ ...common, now: () => agenda.nowMs, tell: () => undefined, heard }, links)
    const room = rooms.open(ROOM)
    return { links, shares, room }
  }
  type Node = ReturnType<typeof nodeOf>
  const home = nodeOf(down)
  const edge = nodeOf(up)

  const cameras = layers.map((layer, at) => {
    const camera = { ...layer, at, index: 0, keyAtMs: 0, track: null as RtpTrack | null, asked: 0 }
    const ask = (): void => {
      camera.asked += 1
      camera.keyAtMs = Math.min(camera.keyAtMs, agenda.nowMs + ASK_MS)
    }
    const track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, ask)
    return Object.assign(camera, { track, meter: new BitrateMeter(agenda.nowMs) })
  })
  const film = (): void => {
    for (const camera of cameras) {
      const isKey = agenda.nowMs >= camera.keyAtMs
      if (isKey) camera.keyAtMs = Number.POSITIVE_INFINITY
      const timestamp = ((agenda.nowMs - START_MS) * 90) >>> 0
      for (let left = camera.packets; left > 0; left -= 1) {
        const isFirst = left === camera.packets
        const payload = Buffer.alloc(camera.bytes)
        // The payload descriptor of RFC 7741, and the frame header of RFC 6386 section 9.1.
        payload.set([isFirst ? 0x10 : 0, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, camera.at])
        const isKeyStart = isFirst && isKey
        const packet = {
          ssrc: camera.at + 1,
          index: camera.index++,
          timestamp,
          marker: left === 1,
          payload,
          isKeyStart,
        }
        camera.track.take(packet, agenda.nowMs)
        camera.meter.add(payload.length)
      }
      camera.meter.tick(agenda.nowMs)
    }
    agenda.at(agenda.nowMs + FRAME_MS, film)
  }
  const often = (everyMs: number, firstMs: number, step: () => void): void => {
    const again = (): void => {
      step()
      agenda.at(agenda.nowMs + everyMs, again)
    }
    agenda.at(agenda.nowMs + firstMs, again)
  }
  home.room.addSource(
    {
      sessionId: 'p1',
      sourceId: null,
      audio: null,
      layers: cameras.map(({ track, meter, at }) => ({ rid: `${at}`, track, meter })),
      profile: null,
    },
    agenda.nowMs,
  )
  const screen = new Screen(agenda)
  const payloadTypes = new Map([['vp8', 96] as const])
  const downTrack = new DownTrack({
    ssrc: MEDIA,
    kind: 'video',
    payloadTypes,
    rtx: null,
    transport: screen,
    firstIndex: 100,
  })
  const viewer = new Viewer({
    transport: { isConnected: true, sendRtcp: () => undefined },
    downTracks: [downTrack],
    cname: 'v',
  })
  for (const { links, shares } of [home, edge])
    often(PACE_MS, 1 + Math.floor(random() * PACE_MS), () => {
      links.pace(agenda.nowMs)
      shares.pace(agenda.nowMs)
    })
  often(SLOW_MS, 1 + Math.floor(random() * SLOW_MS), () => home.links.reconcile(agenda.nowMs))
  often(SLOW_MS, 1 + Math.floor(random() * SLOW_MS), () => {
    viewer.tick(agenda.nowMs)
    edge.links.reconcile(agenda.nowMs)
  })
  agenda.at(agenda.nowMs + 1 + Math.floor(random() * FRAME_MS), film)
  const share = { room: ROOM, key: KEY, ssrc: SSRC }
  home.shares.add({ ...share, peer: 1000, addresses: null }, agenda.nowMs)
  edge.shares.add({ ...share, peer: 1001, addresses: [{ address: '192.0.2.1', port: HOME }] }, agenda.nowMs)
  edge.room.join('v', viewer, null, agenda.nowMs)
  return {
    network,
    screen,
    carried,
    /** Of each layer, the keyframes that the publisher was asked for. */
    asked: () => cameras.map(({ asked }) => asked),
    /** Milliseconds since the start. */
    nowMs: () => agenda.nowMs - START_MS,
    pass: (ms: number) => agenda.pass(ms),
  }
}
