import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Endpoint } from '../transport/socket.ts'
import type { SrtpSession } from '../transport/srtpSession.ts'
import { blank } from '../wire/rtcp/packet.ts'

export interface ControlChannelOptions {
  /** With the keys of this channel, which nothing else has. */
  readonly srtp: SrtpSession
  /** Of both ends. */
  readonly ssrc: number
  /** Best effort. `to` null: where the other end was heard last. */
  readonly send: (sealed: Buffer, to: Endpoint | null) => void
}

/** What a datagram of the other end says. */
interface Heard {
  /** Messages whose turn it is, in their order. */
  readonly messages: readonly unknown[]
  /** It carried a message, or waits for a first answer: call `confirm`. */
  readonly isToConfirm: boolean
  /** The other end does not know yet by which address it reaches this one. */
  readonly isSeeking: boolean
  /** The other end ends the channel. */
  readonly isEnd: boolean
}

interface Unconfirmed {
  readonly sequence: number
  readonly data: Buffer
  dueAtMs: number
  tries: number
}

interface Packet {
  readonly flags: number
  readonly sequence?: number
  readonly data?: Buffer
  readonly to?: Endpoint | null
}

/** RFC 3550 section 6.7. The count of its header is ours to use. */
const APP = 204
const NAME = 'slce'
/** Header, SSRC, name, sequence, confirmed sequence, length. */
const DATA_AT = 22
const FLAGS = { none: 0, seeking: 1, end: 2 } as const
/** With its headers below every path's largest datagram. */
const MAX_DATA = 1150
/** A message in its text. */
const MAX_TEXT = 65_536
const MAX_UNCONFIRMED = 256
const WINDOW = 32
/** Each message leaves twice at first: a viewer may wait for it, and a lost one would cost it a round trip. */
const REPEAT_MS = 20
const RESEND_MS = 100
/** Viewers may wait for what a message says, and where much is lost several in a row do not come. */
const MAX_RESEND_MS = 300
const KEEPALIVE_MS = 1000
/** The last packet of a channel may be lost. */
const ENDS = 3

/**
 * Messages between two relays that reach the other end once and in order, although datagrams are lost: APP packets in SRTCP. One that
 * is not confirmed is sent again. An idle channel sends a packet each second, so that silence says that the other end is gone.
 */
export class ControlChannel {
  readonly #options: ControlChannelOptions
  readonly #unconfirmed: Unconfirmed[] = []
  readonly #early = new Map<number, unknown>()
  /** Set at the end that begins, until the other one has answered. */
  isSeeking = false
  /** The other end confirms nothing, or a message does not fit: the channel is of no use. */
  isBroken = false
  #lastSequence = 0
  #received = 0
  #sentAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ControlChannelOptions) {
    this.#options = options
  }

  post(message: object, nowMs: number): void {
    const data = deflateRawSync(JSON.stringify(message))
    if (data.length > MAX_DATA || this.#unconfirmed.length >= MAX_UNCONFIRMED) {
      this.isBroken = true
      return
    }
    this.#lastSequence += 1
    this.#unconfirmed.push({ sequence: this.#lastSequence, data, dueAtMs: nowMs, tries: 0 })
    this.#sendDue(nowMs)
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    this.#sendDue(nowMs)
    if (nowMs - this.#sentAtMs >= KEEPALIVE_MS) this.confirm(nowMs)
  }

  /** Says what it has received so far, and whether it is seeking. */
  confirm(nowMs: number, to: Endpoint | null = null): void {
    this.#send({ flags: this.#flags, to }, nowMs)
  }

  /** Tells the other end that this is over, and forgets the keys. */
  close(nowMs: number): void {
    for (let left = ENDS; left > 0; left -= 1) this.#send({ flags: FLAGS.end }, nowMs)
    this.#options.srtp.close()
  }

  /** Reads a datagram with the SSRC of this channel. Null: it is not of the other end, or comes again. */
  take(sealed: Buffer): Heard | null {
    const compound = this.#options.srtp.openRtcp(sealed)
    if (compound === undefined || !isControl(compound)) return null
    const flags = compound.readUInt8(0) & 31
    const [sequence, confirmed] = [compound.readUInt32BE(12), compound.readUInt32BE(16)]
    const before = this.#unconfirmed.findIndex((one) => one.sequence > confirmed)
    this.#unconfirmed.splice(0, before === -1 ? this.#unconfirmed.length : before)
    if (sequence > this.#received && sequence <= this.#received + WINDOW) {
      const message = parse(compound.subarray(DATA_AT, DATA_AT + compound.readUInt16BE(20)))
      if (message !== null) this.#early.set(sequence, message)
    }
    const isSeeking = flags === FLAGS.seeking
    const isToConfirm = sequence !== 0 || isSeeking
    return { messages: this.#inOrder(), isToConfirm, isSeeking, isEnd: flags === FLAGS.end }
  }

  #inOrder(): unknown[] {
    const messages: unknown[] = []
    for (let next = this.#received + 1; this.#early.has(next); next += 1) {
      messages.push(this.#early.get(next))
      this.#early.delete(next)
      this.#received = next
    }
    return messages
  }

  #sendDue(nowMs: number): void {
    for (const one of this.#unconfirmed.slice(0, WINDOW)) {
      if (one.dueAtMs > nowMs) continue
      one.dueAtMs = nowMs + (one.tries === 0 ? REPEAT_MS : Math.min(MAX_RESEND_MS, (RESEND_MS / 2) * 2 ** one.tries))
      one.tries += 1
      this.#send({ flags: this.#flags, ...one }, nowMs)
    }
  }

  get #flags(): number {
    return this.isSeeking ? FLAGS.seeking : FLAGS.none
  }

  #send({ flags, sequence = 0, data = EMPTY, to = null }: Packet, nowMs: number): void {
    const { srtp, ssrc, send } = this.#options
    this.#sentAtMs = nowMs
    const packet = blank(APP, flags, Math.ceil((DATA_AT + data.length) / 4) * 4)
    packet.writeUInt32BE(ssrc, 4)
    packet.write(NAME, 8, 'latin1')
    packet.writeUInt32BE(sequence, 12)
    packet.writeUInt32BE(this.#received, 16)
    packet.writeUInt16BE(data.length, 20)
    data.copy(packet, DATA_AT)
    send(srtp.sealRtcp(packet), to)
  }
}

const EMPTY = Buffer.alloc(0)

const isControl = (compound: Buffer): boolean =>
  compound.length >= DATA_AT &&
  compound.readUInt8(1) === APP &&
  compound.toString('latin1', 8, 12) === NAME &&
  DATA_AT + compound.readUInt16BE(20) <= compound.length

/** Null: it is no message. The other end has our keys, and may have another version. */
function parse(data: Buffer): unknown {
  try {
    return JSON.parse(inflateRawSync(data, { maxOutputLength: MAX_TEXT }).toString()) as unknown
  } catch {
    return null
  }
}
