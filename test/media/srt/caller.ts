import { createCipheriv, pbkdf2Sync, randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { counterOf } from '../../../src/media/srt/keys.ts'
import { CONTROL, KEY_REQUEST, KEY_RESPONSE, readPacket, writeControl } from '../../../src/media/srt/packets.ts'
import { sequenceAfter } from '../../../src/media/srt/sequences.ts'
import { until } from '../../support/until.ts'

/** A caller that publishes, written from the draft: what the listener is tried with. */

export interface CallOptions {
  readonly streamId?: string
  readonly passphrase?: string
  readonly keyBytes?: 16 | 24 | 32
  /** The sequence number of the first packet. */
  readonly sequence?: number
  readonly latencyMs?: number
  /** Further extensions of the conclusion, as type and body. */
  readonly extensions?: readonly (readonly [number, Buffer])[]
  readonly flags?: number
  readonly version?: number
  /** It speaks the handshake of version 4. */
  readonly isVersion4?: boolean
  readonly isRendezvous?: boolean
  /** Whether a data packet is lost on the way; `attempt` is 0 the first time. */
  readonly loses?: (sequence: number, attempt: number) => boolean
}

interface HandshakeFields {
  readonly version: number
  readonly type: number
  readonly cookie?: number
  readonly extensionField?: number
  readonly encryption?: number
}

const SOCKET_ID = 0x1234
const TIMED = 0xbf

export function handshakeBody(fields: HandshakeFields, sequence: number, extensions: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt32BE(fields.version, 0)
  body.writeUInt16BE(fields.encryption ?? 0, 4)
  body.writeUInt16BE(fields.extensionField ?? 0, 6)
  body.writeUInt32BE(sequence, 8)
  body.writeUInt32BE(1500, 12)
  body.writeUInt32BE(8192, 16)
  body.writeUInt32BE(fields.type, 20)
  body.writeUInt32BE(SOCKET_ID, 24)
  body.writeUInt32BE(fields.cookie ?? 0, 28)
  return Buffer.concat([body, extensions])
}

export function extension(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(type, 0)
  head.writeUInt16BE(body.length / 4, 2)
  return Buffer.concat([head, body])
}

export function textWords(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]).swap32()
}

/** The extension that every conclusion has. */
export function srtRequest({
  version = 0x1_05_00,
  flags = TIMED,
  latencyMs = 120,
}: Pick<CallOptions, 'version' | 'flags' | 'latencyMs'> = {}): Buffer {
  const body = Buffer.alloc(12)
  body.writeUInt32BE(version, 0)
  body.writeUInt32BE(flags, 4)
  body.writeUInt16BE(latencyMs, 10)
  return extension(1, body)
}

interface Keys {
  readonly salt: Buffer
  readonly even: Buffer
  readonly odd: Buffer
}

/** The key message of section 3.2.2 for the even key, the odd one, or both. */
export function keyMessage(passphrase: string, { salt, even, odd }: Keys, which: 1 | 2 | 3): Buffer {
  const head = Buffer.from([0x12, 0x20, 0x29, which, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, 4, even.length / 4])
  const wrapping = pbkdf2Sync(passphrase, salt.subarray(8), 2048, even.length, 'sha1')
  const cipher = createCipheriv(`id-aes${even.length * 8}-wrap`, wrapping, Buffer.alloc(8, 0xa6))
  const plain = which === 3 ? Buffer.concat([even, odd]) : which === 1 ? even : odd
  return Buffer.concat([head, salt, cipher.update(plain), cipher.final()])
}

export const randomKeys = (keyBytes: number): Keys => ({
  salt: randomBytes(16),
  even: randomBytes(keyBytes),
  odd: randomBytes(keyBytes),
})

/** Calls the listener, and publishes once it is admitted. */
export class SrtCaller {
  /** Null: no answer yet. 0: admitted. Otherwise the code of the refusal. */
  answer: number | null = null
  latencyMs = 0
  /** The latest sequence number that the listener acknowledges. */
  acknowledged = -1
  losses = 0
  hasEnded = false
  keyConfirmations = 0
  readonly #options: CallOptions
  readonly #port: number
  readonly #socket: Socket
  readonly #keys: Keys | null
  readonly #sent = new Map<number, { packet: Buffer; attempts: number }>()
  #which: 1 | 2 = 1
  #sequence: number
  /** It sends in the clear, whatever its keys are. */
  sendsClear = false
  /** What the listener knows it by. */
  listenerId = 0

  private constructor(port: number, options: CallOptions, socket: Socket) {
    this.#port = port
    this.#options = options
    this.#socket = socket
    this.#sequence = options.sequence ?? 1000
    this.#keys = options.passphrase === undefined ? null : randomKeys(options.keyBytes ?? 16)
    socket.on('message', (datagram) => this.#take(datagram))
  }

  /** Begins its handshake. */
  static async open(port: number, options: CallOptions = {}): Promise<SrtCaller> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const caller = new SrtCaller(port, options, socket)
    caller.induct()
    return caller
  }

  /** Waits for the answer to its handshake. */
  static async call(port: number, options: CallOptions = {}): Promise<SrtCaller> {
    const caller = await SrtCaller.open(port, options)
    await until(() => caller.answer !== null)
    return caller
  }

  get sequence(): number {
    return this.#sequence
  }

  induct(): void {
    if (this.#options.isRendezvous) return this.#handshake(handshakeBody({ version: 5, type: 0 }, this.#sequence))
    this.#handshake(handshakeBody({ version: 4, type: 1, extensionField: 2 }, this.#sequence))
  }

  conclude(cookie: number): void {
    const { streamId, passphrase, extensions = [] } = this.#options
    if (this.#options.isVersion4) {
      return this.#handshake(handshakeBody({ version: 4, type: 0xffff_ffff, cookie }, this.#sequence))
    }
    const keys = this.#keys && passphrase !== undefined ? [extension(3, keyMessage(passphrase, this.#keys, 1))] : []
    const ids = streamId === undefined ? [] : [extension(5, textWords(streamId))]
    const others = extensions.map(([type, body]) => extension(type, body))
    const all = Buffer.concat([srtRequest(this.#options), ...keys, ...ids, ...others])
    this.#handshake(handshakeBody({ version: 5, type: 0xffff_ffff, cookie, extensionField: 7 }, this.#sequence, all))
  }

  /** One data packet for each. */
  send(...bodies: readonly Buffer[]): void {
    for (const body of bodies) {
      const sequence = this.#sequence
      this.#sequence = sequenceAfter(sequence)
      this.#sent.set(sequence, { packet: this.#dataPacket(sequence, body), attempts: 0 })
      this.#transmit(sequence)
    }
  }

  /** Encrypts with the other key from now on. */
  changeKey(): void {
    this.#which = this.#which === 1 ? 2 : 1
  }

  /** Tells the listener the keys, as a sender does before it changes them. */
  announceKeys(passphrase = this.#options.passphrase ?? '', keys = this.#keys): void {
    if (keys === null) return
    const body = keyMessage(passphrase, keys, 3)
    this.raw(
      writeControl({ type: CONTROL.userDefined, subtype: KEY_REQUEST, socketId: this.listenerId, timeUs: 0, body }),
    )
  }

  /** Says that these will not be sent again. */
  giveUp(first: number, last: number): void {
    const body = Buffer.alloc(8)
    body.writeUInt32BE(first, 0)
    body.writeUInt32BE(last, 4)
    this.raw(writeControl({ type: CONTROL.dropRequest, socketId: this.listenerId, timeUs: 0, body }))
  }

  shutDown(): void {
    this.raw(this.#goodbye())
  }

  /** Says goodbye, and closes when that was sent. */
  async leave(): Promise<void> {
    await new Promise((sent) => this.#socket.send(this.#goodbye(), this.#port, '127.0.0.1', sent))
    this.close()
  }

  raw(datagram: Buffer): void {
    this.#socket.send(datagram, this.#port, '127.0.0.1')
  }

  #goodbye(): Buffer {
    return writeControl({ type: CONTROL.shutdown, socketId: this.listenerId, timeUs: 0, body: Buffer.alloc(4) })
  }

  close(): void {
    this.#socket.close()
  }

  #handshake(body: Buffer): void {
    this.raw(writeControl({ type: CONTROL.handshake, socketId: 0, timeUs: 0, body }))
  }

  #dataPacket(sequence: number, body: Buffer): Buffer {
    const head = Buffer.alloc(16)
    head.writeUInt32BE(sequence, 0)
    head.writeUInt32BE(this.listenerId, 12)
    const keys = this.sendsClear ? null : this.#keys
    head.writeUInt32BE((0xe000_0000 | ((keys === null ? 0 : this.#which) << 27)) >>> 0, 4)
    if (keys === null) return Buffer.concat([head, body])
    const key = this.#which === 1 ? keys.even : keys.odd
    const cipher = createCipheriv(`aes-${key.length * 8}-ctr`, key, counterOf(keys.salt, sequence))
    return Buffer.concat([head, cipher.update(body)])
  }

  #transmit(sequence: number): void {
    const sent = this.#sent.get(sequence)
    if (sent === undefined) return
    const isLost = this.#options.loses?.(sequence, sent.attempts) === true
    sent.attempts += 1
    if (!isLost) this.raw(sent.packet)
  }

  #take(datagram: Buffer): void {
    const packet = readPacket(datagram)
    if (packet?.kind !== 'control') return
    const { type, subtype, info, body } = packet
    if (type === CONTROL.handshake) this.#answered(body)
    else if (type === CONTROL.nak) this.#lost(body)
    else if (type === CONTROL.shutdown) this.hasEnded = true
    else if (type === CONTROL.userDefined && subtype === KEY_RESPONSE) this.keyConfirmations += 1
    else if (type === CONTROL.ack) {
      this.acknowledged = body.readUInt32BE(0)
      this.raw(writeControl({ type: CONTROL.ackAck, info, socketId: this.listenerId, timeUs: 0 }))
    }
  }

  #answered(body: Buffer): void {
    const type = body.readUInt32BE(20)
    if (type === 1) return this.conclude(body.readUInt32BE(28))
    this.listenerId = body.readUInt32BE(24)
    // The first extension is the response, whose third word has the latency.
    if (type === 0xffff_ffff) this.latencyMs = body.readUInt16BE(48 + 4 + 8)
    // Codes of applications come with 1000 more, as libsrt reads them.
    this.answer = type === 0xffff_ffff ? 0 : type < 2000 ? type : type - 1000
  }

  #lost(body: Buffer): void {
    this.losses += 1
    for (let at = 0; at + 4 <= body.length; at += 4) {
      const word = body.readUInt32BE(at)
      const isRange = word >= 0x8000_0000
      const [first, last] = isRange ? [word - 0x8000_0000, body.readUInt32BE(at + 4)] : [word, word]
      if (isRange) at += 4
      for (let sequence = first; ; sequence = sequenceAfter(sequence)) {
        this.#transmit(sequence)
        if (sequence === last) break
      }
    }
  }
}
