import type { Random } from '../../../base/random.ts'
import type { Fanout } from '../forward/fanout.ts'
import type { Source } from '../forward/source.ts'
import type { Room } from '../room.ts'
import type { Rooms } from '../rooms.ts'
import type { NativeBackEnd } from '../transport/nativeBackEnd.ts'
import type { Endpoint } from '../transport/socket.ts'
import { isRtcp } from '../wire/rtp.ts'
import { ByRoom } from './byRoom.ts'
import type { LinkMessage, LinkOffer } from './linkOffer.ts'
import { LinkReceiver, type Wanted } from './linkReceiver.ts'
import { LinkSender } from './linkSender.ts'
import { LinkTransport, newLinkSecrets } from './linkTransport.ts'

export interface LinksOptions {
  /** The number of this process among those of the engine. */
  readonly process: number
  /** The UDP port of the loopback where links come in. */
  readonly port: number
  readonly native: NativeBackEnd | null
  readonly random: Random
  readonly send: (datagram: Uint8Array, to: Endpoint) => void
  /** Says something to the other end, in another process. */
  readonly post: (process: number, message: LinkMessage) => void
}

/** The upper 8 bits of an SSRC are the number of the process that sends it. */
const SSRCS_A_PROCESS = 2 ** 24

/** A link from here to a child. */
interface Down {
  readonly linkId: number
  readonly process: number
  readonly room: string
  readonly preferredTo: string | null
  readonly sender: LinkSender
  wasWatched: boolean
}

/** A link from a parent to here. */
interface Up {
  readonly process: number
  readonly receiver: LinkReceiver
  said: Wanted
}

/**
 * The links of one process. As a parent it has shared rooms: each source of theirs goes to the child by a link of its own. As a
 * child it adds the source of each link to its room, where viewers find it as they find that of a publisher.
 */
export class Links {
  readonly #options: LinksOptions
  readonly #rooms: Rooms
  readonly #createFanout: () => Fanout
  /** By room: the children, and the ports where they listen. */
  readonly #shared = new Map<string, Map<number, number>>()
  /** By link. */
  readonly #down = new Map<number, Down>()
  readonly #up = new Map<number, Up>()
  /** The same links. */
  readonly #downOf = new ByRoom<Down>()
  readonly #upOf = new ByRoom<Up>()
  /** By SSRC. */
  readonly #bySsrc = new Map<number, Up>()
  #nextSsrc = 1

  constructor(options: LinksOptions, rooms: Rooms, createFanout: () => Fanout) {
    this.#options = options
    this.#rooms = rooms
    this.#createFanout = createFanout
  }

  /** A process has viewers of this room from now on. */
  share(room: string, process: number, port: number, nowMs: number): void {
    const children = this.#shared.get(room) ?? new Map<number, number>()
    this.#shared.set(room, children.set(process, port))
    this.refresh(room, nowMs)
  }

  /** A process has no viewers of this room any more. */
  unshare(room: string, process: number, nowMs: number): void {
    const children = this.#shared.get(room)
    children?.delete(process)
    if (children?.size === 0) this.#shared.delete(room)
    this.refresh(room, nowMs)
  }

  /** A process has ended, and with it the other end of each link between it and this one. */
  gone(process: number, nowMs: number): void {
    for (const room of this.#shared.keys()) this.unshare(room, process, nowMs)
    for (const up of this.#up.values()) if (up.process === process) this.#closeUp(up, nowMs)
  }

  /** The sources of this room may have changed. */
  refresh(name: string, nowMs: number): void {
    const [room, children] = [this.#rooms.at(name), this.#shared.get(name)]
    const forms = room === undefined ? [] : ownFormsOf(room, this.#upOf.of(name))
    const down = this.#downOf.of(name)
    // First the new ones: a child's viewers follow from one source to the next.
    for (const [process, port] of children ?? [])
      for (const { source, preferredTo } of forms) {
        const has = [...down].some((one) => one.process === process && one.sender.source === source)
        if (!has) this.#open(name, source, preferredTo, { process, port, nowMs })
      }
    for (const { linkId, process, sender } of down) {
      const isCarried = children?.has(process) === true && forms.some(({ source }) => source === sender.source)
      if (!isCarried) this.#closeDown(linkId)
    }
  }

  /** See `Room.setAside`. */
  setAside(room: string, sessionId: string, isAside: boolean): void {
    for (const process of this.#shared.get(room)?.keys() ?? [])
      this.#options.post(process, { kind: 'aside', room, sessionId, isAside })
  }

  /** Whether a child has viewers of the source of this session. */
  isWatched(sessionId: string, room: string): boolean {
    for (const { sender } of this.#downOf.of(room))
      if (sender.isWatched && sender.source.sessionId === sessionId) return true
    return false
  }

  /** The other end says something. */
  heard(process: number, message: LinkMessage, nowMs: number): void {
    switch (message.kind) {
      case 'open':
        return this.#accept(process, message, nowMs)
      case 'close': {
        const up = this.#up.get(message.linkId)
        return up === undefined ? undefined : this.#closeUp(up, nowMs)
      }
      case 'rates':
        return this.#up.get(message.linkId)?.receiver.rates(message.bitrates)
      case 'aside':
        this.#rooms.at(message.room)?.setAside(message.sessionId, message.isAside, nowMs)
        return this.#reconcileRoom(message.room, nowMs)
      case 'want':
        return this.#wanted(message, nowMs)
    }
  }

  /** A datagram of a link arrived. It may be reused after this call. `isLate`: it waited too long before it was read. */
  receive(datagram: Buffer, nowMs: number, isLate: boolean): void {
    if (datagram.length < 12) return
    const ssrc = datagram.readUInt32BE(isRtcp(datagram) ? 4 : 8)
    const up = this.#bySsrc.get(ssrc)
    if (up !== undefined) up.receiver.receive(datagram, nowMs, isLate)
    else this.#down.get(ssrc)?.sender.receive(datagram, nowMs)
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    for (const down of this.#down.values()) this.#paceDown(down, nowMs)
    for (const { receiver } of this.#up.values()) receiver.pace(nowMs)
  }

  /** Tells parents what viewers here need. Call it when one joins, and several times a second. */
  reconcile(nowMs: number): void {
    for (const up of this.#up.values()) this.#reconcile(up, nowMs)
  }

  /** What the viewers of a room are shown may have changed. */
  #reconcileRoom(room: string, nowMs: number): void {
    for (const up of this.#upOf.of(room)) this.#reconcile(up, nowMs)
  }

  #reconcile(up: Up, nowMs: number): void {
    const { linkId, room, sessionId } = up.receiver.offer
    const wanted = up.receiver.wanted(this.#rooms.at(room)?.isWatched(sessionId) === true, nowMs)
    if (wanted.isWatched === up.said.isWatched && wanted.ssrcs.join() === up.said.ssrcs.join()) return
    up.said = wanted
    this.#options.post(up.process, { kind: 'want', linkId, ...wanted })
  }

  #paceDown({ linkId, process, sender }: Down, nowMs: number): void {
    sender.pace(nowMs)
    const bitrates = sender.newRates(nowMs)
    if (bitrates !== null) this.#options.post(process, { kind: 'rates', linkId, bitrates })
  }

  #open(
    room: string,
    source: Source,
    preferredTo: string | null,
    { process, port, nowMs }: { process: number; port: number; nowMs: number },
  ): void {
    const { random, native, send, post } = this.#options
    const secrets = newLinkSecrets(random)
    const transport = new LinkTransport({ secrets, end: 'parent', to: loopback(port), native, send })
    const sender = new LinkSender(source, transport, () => this.#newSsrc())
    const linkId = sender.tracks[0]?.ssrc
    if (linkId === undefined) return transport.close()
    const down = { linkId, process, room, preferredTo, sender, wasWatched: false }
    this.#down.set(linkId, down)
    this.#downOf.add(room, down)
    const { sessionId, sourceId, priority = null, profile } = source
    const about = { room, sessionId, sourceId, priority, profile, preferredTo }
    post(process, { kind: 'open', linkId, ...about, tracks: sender.tracks, secrets, port: this.#options.port })
    if (this.#rooms.at(room)?.isAside(sessionId) === true)
      post(process, { kind: 'aside', room, sessionId, isAside: true })
    this.#paceDown(down, nowMs)
  }

  #newSsrc(): number {
    this.#nextSsrc = (this.#nextSsrc % (SSRCS_A_PROCESS - 1)) + 1
    return this.#options.process * SSRCS_A_PROCESS + this.#nextSsrc
  }

  #closeDown(linkId: number): void {
    const down = this.#down.get(linkId)
    if (down === undefined) return
    this.#down.delete(linkId)
    this.#downOf.delete(down.room, down)
    down.sender.close()
    this.#options.post(down.process, { kind: 'close', linkId })
  }

  #accept(process: number, offer: LinkOffer, nowMs: number): void {
    const { native, send } = this.#options
    const { secrets, room, preferredTo, tracks, linkId } = offer
    const transport = new LinkTransport({ secrets, end: 'child', to: loopback(offer.port), native, send })
    const waiting = (atMs: number): void => this.#reconcile(up, atMs)
    const receiver = new LinkReceiver({ offer, transport, createFanout: this.#createFanout, waiting }, nowMs)
    const up: Up = { process, receiver, said: { isWatched: false, ssrcs: [] } }
    this.#up.set(linkId, up)
    this.#upOf.add(room, up)
    for (const { ssrc, rtxSsrc } of tracks) this.#bySsrc.set(ssrc, up).set(rtxSsrc, up)
    if (preferredTo === null) this.#rooms.open(room).addSource(receiver.source, nowMs)
    else this.#rooms.open(room).prefer(receiver.source, preferredTo, nowMs)
    this.#reconcileRoom(room, nowMs)
  }

  /** A link of the same session may have replaced it: then the room has another source of it. */
  #closeUp(up: Up, nowMs: number): void {
    const { linkId, room, sessionId, tracks } = up.receiver.offer
    this.#up.delete(linkId)
    this.#upOf.delete(room, up)
    for (const { ssrc, rtxSsrc } of tracks) for (const one of [ssrc, rtxSsrc]) this.#bySsrc.delete(one)
    up.receiver.close()
    const isReplaced = [...this.#upOf.of(room)].some(({ receiver: { offer } }) => offer.sessionId === sessionId)
    if (!isReplaced) this.#rooms.at(room)?.removeSource(sessionId, nowMs)
    this.#rooms.closeIfEmpty(room)
    this.#reconcileRoom(room, nowMs)
  }

  /** A source without requests for keyframes leaves the child with old packets when it pauses: then a new link begins. */
  #wanted({ linkId, isWatched, ssrcs }: Extract<LinkMessage, { kind: 'want' }>, nowMs: number): void {
    const down = this.#down.get(linkId)
    if (down === undefined) return
    down.sender.isWatched = isWatched
    if (ssrcs.length === 0 && down.wasWatched) {
      const { room, process, preferredTo, sender } = down
      const port = this.#shared.get(room)?.get(process)
      if (port !== undefined) this.#open(room, sender.source, preferredTo, { process, port, nowMs })
      return this.#closeDown(linkId)
    }
    down.wasWatched ||= ssrcs.length > 0
    down.sender.want(ssrcs, nowMs)
  }
}

/** What is published here: not what came by a link, so that none goes in a circle. The oldest first, as a child adds them. */
function ownFormsOf(room: Room, up: Iterable<Up>): ReturnType<Room['forms']> {
  const linked = new Set([...up].map(({ receiver }) => receiver.source))
  return room.forms().filter(({ source }) => !linked.has(source))
}

const loopback = (port: number): Endpoint => ({ address: '127.0.0.1', port, via: 0 })
