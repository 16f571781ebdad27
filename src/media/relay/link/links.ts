import { greatest } from '../../../base/numbers.ts'
import type { Random } from '../../../base/random.ts'
import { SetIndex } from '../../../base/setIndex.ts'
import { eachWalled } from '../../../base/walls.ts'
import type { Fanout } from '../forward/fanout.ts'
import type { Source } from '../forward/source.ts'
import type { Room } from '../room.ts'
import type { Rooms } from '../rooms.ts'
import type { NativeBackEnd } from '../transport/nativeBackEnd.ts'
import type { Endpoint } from '../transport/socket.ts'
import { isRtcp } from '../wire/rtp.ts'
import { newShareSsrc, type ShareFigures } from '../../engine.ts'
import type { CarriedFigures } from './linkTally.ts'
import type { LinkMessage, LinkOffer } from './linkOffer.ts'
import { LinkReceiver, type Wanted } from './linkReceiver.ts'
import { LinkSender } from './linkSender.ts'
import { type LinkSecrets, LinkTransport, type LinkTransportOptions, newLinkSecrets } from './linkTransport.ts'

export interface LinksOptions {
  /** The number of this process among those of the engine. */
  readonly process: number
  /** The UDP port of the loopback where links come in. */
  readonly port: number
  readonly native: NativeBackEnd | null
  readonly random: Random
  readonly send: (datagram: Uint8Array, to: Endpoint) => void
  /** A fault of ours, which has ended one link and no other. */
  readonly fault: (error: unknown) => void
  /** Says something to the other end, in another process. */
  readonly post: (process: number, message: LinkMessage) => void
}

/** A relay at another node, where links go or come from. It has a number above those of processes. */
export interface NodePeer {
  /** Where it was heard last. */
  readonly to: Endpoint
  /** The peer whose sources it gets, at a third node. Null: it gets those of this node. */
  readonly from: number | null
  readonly native: NativeBackEnd | null
  readonly send: LinksOptions['send']
  /** Of a link between it and this relay. */
  secretsOf(linkId: number): LinkSecrets
  post(message: LinkMessage): void
}

/** The upper 8 bits of an SSRC are the number of the process that sends it, unless it is one of `newShareSsrc`. */
const SSRCS_A_PROCESS = 2 ** 24

/** What is carried between here and a relay at another node. */
export interface PeerFigures extends ShareFigures {
  readonly peer: number
}

/** A link from here to a child. */
interface Down {
  readonly linkId: number
  readonly process: number
  readonly room: string
  readonly preferredTo: string | null
  readonly sender: LinkSender
  readonly transport: LinkTransport
  wasWatched: boolean
}

/** A link from a parent to here. */
interface Up {
  readonly process: number
  readonly receiver: LinkReceiver
  readonly transport: LinkTransport
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
  readonly #nodes = new Map<number, NodePeer>()
  /** By room: the children, and the ports where they listen; 0 for those at other nodes. */
  readonly #shared = new Map<string, Map<number, number>>()
  /** By link. */
  readonly #down = new Map<number, Down>()
  readonly #up = new Map<number, Up>()
  /** The same links, by room. */
  readonly #downOf = new SetIndex<string, Down>()
  readonly #upOf = new SetIndex<string, Up>()
  /** By SSRC. */
  readonly #bySsrc = new Map<number, Up>()
  #nextSsrc = 1
  #figuresAtMs = 0

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

  /** A relay at another node is there: as a child of rooms that are shared with it, or as a parent. */
  join(process: number, peer: NodePeer): void {
    this.#nodes.set(process, peer)
  }

  /** A relay at another node is at another address now. */
  moved(process: number, to: Endpoint): void {
    for (const one of [...this.#down.values(), ...this.#up.values()])
      if (one.process === process) one.transport.route(to)
  }

  /** The other end of the link with this SSRC; undefined: there is no such link. */
  peerOf(ssrc: number): number | undefined {
    return this.#down.get(ssrc)?.process ?? this.#bySsrc.get(ssrc)?.process
  }

  /** A process has no viewers of this room any more. */
  unshare(room: string, process: number, nowMs: number): void {
    const children = this.#shared.get(room)
    children?.delete(process)
    if (children?.size === 0) this.#shared.delete(room)
    this.refresh(room, nowMs)
  }

  /** A process, or a relay at another node, has ended, and with it the other end of each link between it and this one. */
  gone(process: number, nowMs: number): void {
    for (const room of this.#shared.keys()) this.unshare(room, process, nowMs)
    for (const up of this.#up.values()) if (up.process === process) this.#closeUp(up, nowMs)
    this.#nodes.delete(process)
  }

  /** The sources of this room may have changed. */
  refresh(name: string, nowMs: number): void {
    const [room, children] = [this.#rooms.at(name), this.#shared.get(name)]
    const formsFor = (process: number) => (room === undefined ? [] : this.#formsFor(room, name, process))
    const down = this.#downOf.get(name)
    // First the new ones: a child's viewers follow from one source to the next.
    for (const [process, port] of children ?? [])
      for (const { source, preferredTo } of formsFor(process)) {
        const has = [...down].some((one) => one.process === process && one.sender.source === source)
        if (!has) this.#open(name, source, preferredTo, { process, port, nowMs })
      }
    for (const { linkId, process, sender } of down) {
      const isCarried =
        children?.has(process) === true && formsFor(process).some(({ source }) => source === sender.source)
      if (!isCarried) this.#closeDown(linkId)
    }
  }

  /** See `Room.setAside`. */
  setAside(room: string, sessionId: string, isAside: boolean): void {
    for (const { process, sender } of this.#downOf.get(room))
      if (sender.source.sessionId === sessionId) this.#post(process, { kind: 'aside', room, sessionId, isAside })
  }

  /** Whether a child has viewers of the source of this session. */
  isWatched(sessionId: string, room: string): boolean {
    for (const { sender } of this.#downOf.get(room))
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
        return this.#up.get(message.linkId)?.receiver.rates(message, nowMs)
      case 'aside':
        this.#rooms.at(message.room)?.setAside(message.sessionId, message.isAside, nowMs)
        if (this.#nodes.has(process)) this.setAside(message.room, message.sessionId, message.isAside)
        return this.#reconcileRoom(message.room, nowMs)
      case 'want':
        return this.#wanted(message, nowMs)
    }
  }

  /** A datagram of a link arrived. It may be reused after this call. `isLate`: it waited too long before it was read. */
  receive(datagram: Buffer, nowMs: number, isLate: boolean): void {
    if (datagram.length < 12) return
    const ssrc = datagram.readUInt32BE(isRtcp(datagram) ? 4 : 8)
    const [up, down] = [this.#bySsrc.get(ssrc), this.#down.get(ssrc)]
    if (up !== undefined) this.#each([up], ({ receiver }) => receiver.receive(datagram, nowMs, isLate), nowMs)
    else if (down !== undefined) this.#each([down], ({ sender }) => sender.receive(datagram, nowMs), nowMs)
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    this.#each(this.#down.values(), (down) => this.#paceDown(down, nowMs), nowMs)
    this.#each(this.#up.values(), ({ receiver }) => receiver.pace(nowMs), nowMs)
  }

  /** A fault of ours in the work for a link ends it alone. */
  #each<T extends Down | Up>(links: Iterable<T>, work: (link: T) => void, nowMs: number): void {
    eachWalled(links, work, (error, link) => {
      this.#options.fault(error)
      if ('sender' in link) this.#closeDown(link.linkId)
      else this.#closeUp(link, nowMs)
    })
  }

  /** What each relay at another node has got from here, or sent, since the last call. */
  figures(nowMs: number): PeerFigures[] {
    const seconds = (nowMs - this.#figuresAtMs) / 1000
    this.#figuresAtMs = nowMs
    const all = [
      ...[...this.#down.values()].map(({ process, sender }) => ({ process, ...sender.takeFigures() })),
      ...[...this.#up.values()].map(({ process, receiver }) => ({ process, ...receiver.takeFigures() })),
    ]
    const byPeer = Map.groupBy(all, ({ process }) => process)
    return [...this.#nodes.keys()].map((peer) => ({ peer, ...together(byPeer.get(peer) ?? [], seconds) }))
  }

  /** Tells parents what viewers here need. Call it when one joins, and several times a second. */
  reconcile(nowMs: number): void {
    for (const up of this.#up.values()) this.#reconcile(up, nowMs)
  }

  /** What the viewers of a room are shown may have changed. */
  #reconcileRoom(room: string, nowMs: number): void {
    for (const up of this.#upOf.get(room)) this.#reconcile(up, nowMs)
  }

  #reconcile(up: Up, nowMs: number): void {
    const { linkId, room, sessionId } = up.receiver.offer
    const here = up.receiver.wanted(this.#rooms.at(room)?.isWatched(sessionId) === true, nowMs)
    const wanted = { ...here, isWatched: here.isWatched || this.isWatched(sessionId, room) }
    if (wanted.isWatched === up.said.isWatched && wanted.ssrcs.join() === up.said.ssrcs.join()) return
    up.said = wanted
    this.#post(up.process, { kind: 'want', linkId, ...wanted })
  }

  #paceDown({ linkId, process, sender }: Down, nowMs: number): void {
    sender.pace(nowMs)
    const rates = sender.newRates(nowMs)
    if (rates !== null) this.#post(process, { kind: 'rates', linkId, ...rates })
  }

  #open(
    room: string,
    source: Source,
    preferredTo: string | null,
    { process, port, nowMs }: { process: number; port: number; nowMs: number },
  ): void {
    const linkId = this.#newSsrc(process)
    const { secrets, ...way } = this.#wayTo(process, port, linkId)
    const transport = new LinkTransport({ secrets, end: 'parent', ...way })
    const first = [linkId]
    const sender = new LinkSender(source, transport, () => first.pop() ?? this.#newSsrc(process))
    if (sender.tracks.length === 0) return transport.close()
    const down = { linkId, process, room, preferredTo, sender, transport, wasWatched: false }
    this.#down.set(linkId, down)
    this.#downOf.add(room, down)
    const { sessionId, sourceId, priority = null, profile } = source
    const about = { room, sessionId, sourceId, priority, profile, preferredTo }
    this.#post(process, { kind: 'open', linkId, ...about, tracks: sender.tracks, secrets, port: this.#options.port })
    if (this.#rooms.at(room)?.isAside(sessionId) === true)
      this.#post(process, { kind: 'aside', room, sessionId, isAside: true })
    this.#paceDown(down, nowMs)
  }

  /**
   * Other processes of this node also get what came from other nodes. A node gets what is published here, or what came from
   * the one node whose stream is lent on to it. So nothing goes in a circle.
   */
  #formsFor(room: Room, name: string, process: number): ReturnType<Room['forms']> {
    const node = this.#nodes.get(process)
    const linked = [...this.#upOf.get(name)]
    const sourcesOf = (ups: readonly Up[]) => new Set(ups.map(({ receiver }) => receiver.source))
    if (node !== undefined && node.from !== null) {
      const lentOn = sourcesOf(linked.filter((up) => up.process === node.from))
      return room.forms().filter(({ source }) => lentOn.has(source))
    }
    const others = sourcesOf(linked.filter((up) => node !== undefined || !this.#nodes.has(up.process)))
    return room.forms().filter(({ source }) => !others.has(source))
  }

  #newSsrc(process: number): number {
    if (this.#nodes.has(process)) return this.#newSsrcOfNode()
    this.#nextSsrc = (this.#nextSsrc % (SSRCS_A_PROCESS - 1)) + 1
    return this.#options.process * SSRCS_A_PROCESS + this.#nextSsrc
  }

  #newSsrcOfNode(): number {
    const ssrc = newShareSsrc(this.#options.random)
    return this.peerOf(ssrc) === undefined ? ssrc : this.#newSsrcOfNode()
  }

  #wayTo(process: number, port: number, linkId: number): Omit<LinkTransportOptions, 'end'> {
    const node = this.#nodes.get(process)
    const { native, send } = node ?? this.#options
    const secrets = node?.secretsOf(linkId) ?? newLinkSecrets(this.#options.random)
    return { secrets, to: node?.to ?? loopback(port), native, send }
  }

  #post(process: number, message: LinkMessage): void {
    const node = this.#nodes.get(process)
    if (node === undefined) this.#options.post(process, message)
    else node.post(message)
  }

  #closeDown(linkId: number): void {
    const down = this.#down.get(linkId)
    if (down === undefined) return
    this.#down.delete(linkId)
    this.#downOf.remove(down.room, down)
    down.sender.close()
    this.#post(down.process, { kind: 'close', linkId })
  }

  /** An offer with an SSRC that another node has chosen before has no effect: the streams could not be told apart. */
  #accept(process: number, offer: LinkOffer, nowMs: number): void {
    const { secrets, room, preferredTo, tracks, linkId } = offer
    if (tracks.some(({ ssrc, rtxSsrc }) => (this.peerOf(ssrc) ?? this.peerOf(rtxSsrc)) !== undefined)) return
    const transport = new LinkTransport({ ...this.#wayTo(process, offer.port, linkId), secrets, end: 'child' })
    const waiting = (atMs: number): void => this.#reconcile(up, atMs)
    const receiver = new LinkReceiver({ offer, transport, createFanout: this.#createFanout, waiting }, nowMs)
    const up: Up = { process, receiver, transport, said: { isWatched: false, ssrcs: [] } }
    this.#up.set(linkId, up)
    this.#upOf.add(room, up)
    for (const { ssrc, rtxSsrc } of tracks) this.#bySsrc.set(ssrc, up).set(rtxSsrc, up)
    if (preferredTo === null) this.#rooms.open(room).addSource(receiver.source, nowMs)
    else this.#rooms.open(room).prefer(receiver.source, preferredTo, nowMs)
    this.refresh(room, nowMs)
    this.#reconcileRoom(room, nowMs)
  }

  /** A link of the same session may have replaced it: then the room has another source of it. */
  #closeUp(up: Up, nowMs: number): void {
    const { linkId, room, sessionId, tracks } = up.receiver.offer
    this.#up.delete(linkId)
    this.#upOf.remove(room, up)
    for (const { ssrc, rtxSsrc } of tracks) for (const one of [ssrc, rtxSsrc]) this.#bySsrc.delete(one)
    up.receiver.close()
    const isReplaced = [...this.#upOf.get(room)].some(({ receiver: { offer } }) => offer.sessionId === sessionId)
    if (!isReplaced) this.#rooms.at(room)?.removeSource(sessionId, nowMs)
    this.refresh(room, nowMs)
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
    this.#reconcileRoom(down.room, nowMs)
  }
}

/** Of several links over this time. */
const together = (links: readonly CarriedFigures[], seconds: number): ShareFigures => ({
  bitrate: Math.round((8 * links.reduce((sum, { bytes }) => sum + bytes, 0)) / seconds),
  loss: greatest(links.map(({ loss }) => loss)),
  roundTripMs: greatest(links.map(({ roundTripMs }) => roundTripMs)),
})

const loopback = (port: number): Endpoint => ({ address: '127.0.0.1', port, via: 0 })
