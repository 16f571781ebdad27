import { LateLooks } from '../../../base/lateLooks.ts'
import type { EngineAddress } from '../../engine.ts'
import { eachWalled } from '../../../base/walls.ts'
import { isTcp } from '../transport/tcp.ts'
import type { NativeBackEnd } from '../transport/nativeBackEnd.ts'
import type { Endpoint } from '../transport/socket.ts'
import { isRtcp } from '../wire/rtp.ts'
import { ControlChannel } from './controlChannel.ts'
import type { LinkMessage } from './linkOffer.ts'
import type { Links } from './links.ts'
import { derivedLinkSecrets, linkSession } from './linkTransport.ts'
import { messageOf, secretsOfLink, textOf } from './nodeMessages.ts'

/** A room that two nodes share, as both ends know it before the first packet. */
export interface NodeShare {
  /** The number of the other end here, above those of processes. Used once. */
  readonly peer: number
  readonly room: string
  /** The share by which the sources come that it lends on. Null or absent: it lends those of this node, or borrows. */
  readonly from?: number | null
  /** 32 bytes, from which all keys of this share are derived. Used once. */
  readonly key: Uint8Array
  /** A third node can lend the room as well, so this end gives the other one up sooner when it falls silent. */
  readonly isReplaceable?: boolean
  /** Of the control channel, in both directions. */
  readonly ssrc: number
  /** Where the other end listens. Null: it begins, and this end answers where it came from. */
  readonly addresses: readonly EngineAddress[] | null
}

/**
 * What becomes of a share at the end that borrows: `reached`: the other end was heard; `open`: its first source is there. At both ends:
 * `ended`: nothing comes or goes any more. Once each.
 */
export type ShareState = 'reached' | 'open' | 'ended'

export interface NodeSharesOptions {
  /** Milliseconds of the relay's clock. */
  readonly now: () => number
  readonly native: NativeBackEnd | null
  readonly send: (datagram: Uint8Array, to: Endpoint) => void
  readonly tell: (peer: number, state: ShareState) => void
  /** A fault of ours, which has ended one share and no other. */
  readonly fault: (error: unknown) => void
  /** The other end of a link says something. */
  readonly heard: (peer: number, message: LinkMessage) => void
}

interface Share extends NodeShare {
  readonly channel: ControlChannel
  /** By which address the other end is reached; null: not known yet. */
  to: Endpoint | null
  isOpen: boolean
  heardAtMs: number
  seekAtMs: number
  seekMs: number
}

/**
 * An end that says nothing for this long is gone. It says something each second. One that is only slow is back by then; if a third
 * node lends the room at once, nothing is lost by being wrong.
 */
const SILENT_MS = { usual: 5000, replaceable: 2500 }
/** From one call of `pace` to the next. */
const PACE_MS = 50
/**
 * How long the other end may take to be heard for the first time. The one that borrows may have to start its process before it seeks
 * this one, which takes seconds on a busy machine.
 */
const FIRST_MS = { lends: 15_000, borrows: 3000 }
const SEEK_MS = 50
/** As many as a process has sockets. */
const MAX_VIAS = 16

/**
 * The rooms that this relay shares with those of other nodes: the other end is a peer of `Links`, and what both say to each other goes
 * by a control channel on the same ports as media. The node of the feed *lends* a room: it waits for the other end, and sends nothing
 * before a packet with the keys of the share came. The other node *borrows* it: it tries every address that it was told, from every
 * socket, and stays with the first that answers. A stranger without the keys of a share gets no answer, and leaves no trace.
 */
export class NodeShares {
  readonly #options: NodeSharesOptions
  readonly #links: Links
  readonly #looks: LateLooks
  /** By SSRC of the control channel. */
  readonly #bySsrc = new Map<number, Share>()
  readonly #byPeer = new Map<number, Share>()

  constructor(options: NodeSharesOptions, links: Links) {
    this.#options = options
    this.#links = links
    this.#looks = new LateLooks(PACE_MS, options.now())
  }

  /** False: its SSRC is taken. */
  add(share: NodeShare, nowMs: number): boolean {
    if (this.#bySsrc.has(share.ssrc) || this.#links.peerOf(share.ssrc) !== undefined) return false
    const { key, ssrc, peer, addresses } = share
    const end = addresses === null ? 'parent' : 'child'
    const srtp = linkSession(derivedLinkSecrets(key, 'control'), end, null)
    const channel = new ControlChannel({ srtp, ssrc, send: (sealed, to) => this.#send(sealed, to ?? added.to) })
    const added: Share = {
      ...share,
      channel,
      to: null,
      isOpen: false,
      heardAtMs: nowMs - silentMsOf(share) + (addresses === null ? FIRST_MS.lends : FIRST_MS.borrows),
      seekAtMs: nowMs,
      seekMs: SEEK_MS,
    }
    channel.isSeeking = addresses !== null
    this.#bySsrc.set(ssrc, added)
    this.#byPeer.set(peer, added)
    this.#seek(added, nowMs)
    return true
  }

  /** Ends a share, and tells the other end. */
  end(peer: number, nowMs: number): void {
    const share = this.#byPeer.get(peer)
    if (share === undefined) return
    this.#byPeer.delete(peer)
    this.#bySsrc.delete(share.ssrc)
    this.#links.gone(peer, nowMs)
    share.channel.close(nowMs)
    this.#options.tell(peer, 'ended')
  }

  /** Whether the datagram belongs to a share. It may be changed then. `isLate`: it waited too long before it was read. */
  receive(datagram: Buffer, from: Endpoint, nowMs: number, isLate: boolean): boolean {
    const first = datagram[0] ?? 0
    if (this.#bySsrc.size === 0 || datagram.length < 12 || first < 128 || first > 191) return false
    const ssrc = datagram.readUInt32BE(isRtcp(datagram) ? 4 : 8)
    const control = this.#bySsrc.get(ssrc)
    if (control !== undefined) return this.#control(control, datagram, from, nowMs)
    const to = this.#byPeer.get(this.#links.peerOf(ssrc) ?? -1)?.to
    if (to?.port !== from.port || to.address !== from.address) return false
    this.#links.receive(datagram, nowMs, isLate)
    return true
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    // After a pause of this process the other end is heard first: what it has said meanwhile waits in the sockets.
    this.#looks.look(nowMs)
    eachWalled(
      this.#byPeer.values(),
      (share) => this.#pace(share, nowMs),
      (error, { peer }) => {
        this.#options.fault(error)
        this.end(peer, nowMs)
      },
    )
  }

  #pace(share: Share, nowMs: number): void {
    const isSilent = this.#looks.lastedMs(share.heardAtMs, nowMs) > silentMsOf(share)
    if (share.channel.isBroken || isSilent) this.end(share.peer, nowMs)
    else if (share.to === null) this.#seek(share, nowMs)
    else share.channel.pace(nowMs)
  }

  #control(share: Share, datagram: Buffer, from: Endpoint, nowMs: number): boolean {
    const heard = isTcp(from) ? null : share.channel.take(Buffer.from(datagram))
    if (heard === null) return false
    share.heardAtMs = nowMs
    if (heard.isEnd) {
      this.end(share.peer, nowMs)
      return true
    }
    // One that is seeking sends by all ways, and stays with the first by which it gets an answer.
    const before = share.to
    if (before === null || !heard.isSeeking) this.#locate(share, from)
    if (heard.isToConfirm || before === null) share.channel.confirm(nowMs, heard.isSeeking ? from : null)
    for (const message of heard.messages) this.#heard(share, message)
    if (before === null && share.addresses === null) this.#links.share(share.room, share.peer, 0, nowMs)
    return true
  }

  #locate(share: Share, from: Endpoint): void {
    const { to, peer, from: lentOn = null, key, channel } = share
    if (to?.address === from.address && to.port === from.port && to.via === from.via) return
    share.to = from
    channel.isSeeking = false
    if (to !== null) return this.#links.moved(peer, from)
    const { native, send, now } = this.#options
    this.#links.join(peer, {
      get to() {
        return share.to ?? from
      },
      from: lentOn,
      native,
      send,
      secretsOf: (linkId) => secretsOfLink(key, linkId),
      post: (message) => channel.post(textOf(message), now()),
    })
    if (share.addresses !== null) this.#options.tell(peer, 'reached')
  }

  /** The lender is told what is needed, the borrower what there is: never the other way round. */
  #heard(share: Share, text: unknown): void {
    const message = messageOf(text, share)
    if (message === null || (message.kind === 'want') !== (share.addresses === null)) return
    this.#options.heard(share.peer, message)
    if (message.kind !== 'open' || share.isOpen) return
    share.isOpen = true
    this.#options.tell(share.peer, 'open')
  }

  #seek(share: Share, nowMs: number): void {
    if (share.addresses === null || share.seekAtMs > nowMs) return
    share.seekMs *= 2
    share.seekAtMs = nowMs + share.seekMs
    // Each a packet of its own: the other end takes none twice.
    for (const { address, port } of share.addresses)
      for (let via = 0; via < MAX_VIAS; via += 1) share.channel.confirm(nowMs, { address, port, via })
  }

  #send(sealed: Buffer, to: Endpoint | null): void {
    if (to !== null) this.#options.send(sealed, to)
  }
}

const silentMsOf = ({ isReplaceable = false }: NodeShare): number =>
  isReplaceable ? SILENT_MS.replaceable : SILENT_MS.usual
