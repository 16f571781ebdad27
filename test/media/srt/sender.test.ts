import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { type KeyBytes, SendingKeys, StreamKeys } from '../../../src/media/srt/keys.ts'
import {
  type ControlPacket,
  type DataPacket,
  CONTROL,
  HEAD_BYTES,
  KEY_RESPONSE,
  readPacket,
  writeAcknowledgement,
  writeLosses,
} from '../../../src/media/srt/packets.ts'
import { SrtSender } from '../../../src/media/srt/sender.ts'
import { sequenceAfter } from '../../../src/media/srt/sequences.ts'

const PASSPHRASE = 'correct-horse_battery'
/** The numbers wrap meanwhile. */
const FIRST = 0x7fff_fff0
const PACKETS_OF_KEY = 20
const LATENCY_MS = 1000

/** A sender, and the receiver's side of it, which the test tells what has come. */
class Sending {
  nowMs = 0
  /** The keys that packets name, in the order in which they came into use. */
  readonly keyOrder: number[] = []
  readonly #sender: SrtSender
  readonly #reader: StreamKeys
  #messages: Buffer[] = []
  #count = 0
  #latest: DataPacket | null = null

  private constructor(keys: SendingKeys, reader: StreamKeys) {
    this.#reader = reader
    this.#sender = new SrtSender({
      sequence: FIRST,
      socketId: 1,
      latencyMs: LATENCY_MS,
      windowPackets: 8192,
      keys,
      packetsOfKey: PACKETS_OF_KEY,
      timeUs: () => this.nowMs * 1000,
      lastedMs: (sinceMs, nowMs) => nowMs - sinceMs,
      control: ({ type, body }) => {
        if (type === CONTROL.userDefined && body !== undefined) this.#messages.push(body)
      },
      data: (run) => {
        const packet = readPacket(Buffer.from(run))
        if (packet?.kind === 'data') this.#latest = packet
      },
    })
  }

  static async begin(keyBytes: KeyBytes): Promise<Sending> {
    const keys = await SendingKeys.make(PASSPHRASE, keyBytes, systemRandom)
    const reader = await StreamKeys.open(keys.message, PASSPHRASE)
    if (reader === null) throw new Error('the keys of the handshake do not open')
    return new Sending(keys, reader)
  }

  /** Packets of which the receiver can read each one, and confirms each key message. Returns the number of the latest. */
  async send(count: number): Promise<number> {
    for (let sent = 0; sent < count; sent++) {
      this.nowMs += 1
      this.#sender.send(Buffer.concat([Buffer.alloc(HEAD_BYTES), bodyOf(this.#count)]), this.nowMs)
      expect(this.#read()).toEqual(bodyOf(this.#count))
      this.#count += 1
      const key = this.#latest?.key ?? 0
      if (this.keyOrder.at(-1) !== key) this.keyOrder.push(key)
      for (const message of this.#messages.splice(0)) {
        expect(await this.#reader.refresh(message)).toBe(true)
        this.#sender.take(controlOf(CONTROL.userDefined, message, KEY_RESPONSE), this.nowMs)
      }
    }
    return this.#count - 1
  }

  /** What the receiver reads of a packet that it reports as lost. */
  again(index: number): Buffer | null {
    this.#latest = null
    const lost = sequenceAfter(FIRST, index)
    this.#sender.take(controlOf(CONTROL.nak, writeLosses([[lost, lost]])), this.nowMs)
    return this.#read()
  }

  acknowledge(index: number): void {
    const body = writeAcknowledgement({
      sequence: sequenceAfter(FIRST, index + 1),
      roundTripUs: 10_000,
      roundTripVarianceUs: 0,
      freePackets: 8192,
      packetsPerSecond: 0,
      bytesPerSecond: 0,
    })
    this.#sender.take(controlOf(CONTROL.ack, body), this.nowMs)
  }

  #read(): Buffer | null {
    if (this.#latest === null) return null
    const { body, key, sequence } = this.#latest
    const copy = Buffer.from(body)
    return this.#reader.decrypt(copy, key, sequence) ? copy : null
  }
}

/** A packet of MPEG-TS for each number. */
const bodyOf = (index: number): Buffer => Buffer.alloc(188, index)

const controlOf = (type: number, body: Buffer, subtype = 0): ControlPacket => ({
  kind: 'control',
  type,
  subtype,
  info: 1,
  socketId: 0,
  body,
})

test.each([16, 24, 32] as const)(
  'a packet that is sent again after its key of %i bytes was changed is read with the key before',
  async (keyBytes) => {
    const sending = await Sending.begin(keyBytes)
    await sending.send(PACKETS_OF_KEY + 2)
    expect(sending.keyOrder).toEqual([1, 2])
    expect(sending.again(5)).toEqual(bodyOf(5))
  },
)

test.each([16, 24, 32] as const)(
  'keys of %i bytes change no second time while a packet of the first may be sent again, which a receiver could not read',
  async (keyBytes) => {
    const sending = await Sending.begin(keyBytes)
    await sending.send(3)
    sending.acknowledge(1)
    const latest = await sending.send(10 * PACKETS_OF_KEY)
    expect(sending.again(2)).toEqual(bodyOf(2))
    expect(sending.keyOrder).toEqual([1, 2])
    // From then on keys change again, and the packets of the one before stay readable.
    sending.acknowledge(latest)
    await sending.send(PACKETS_OF_KEY)
    expect(sending.keyOrder).toEqual([1, 2, 1])
    expect(sending.again(latest + 1)).toEqual(bodyOf(latest + 1))
  },
)

test('reports of packets that are too late cost a receiver no more answers than it may have until the next tick', () => {
  const drops: number[] = []
  const sender = new SrtSender({
    sequence: 1,
    socketId: 1,
    latencyMs: 120,
    windowPackets: 8192,
    keys: null,
    timeUs: () => 0,
    control: ({ type }) => void drops.push(type),
    data: () => undefined,
    lastedMs: (sinceMs, nowMs) => nowMs - sinceMs,
  })
  for (let sent = 0; sent < 400; sent++) sender.send(Buffer.alloc(HEAD_BYTES + 188), 0)
  const report = controlOf(CONTROL.nak, writeLosses(Array.from({ length: 359 }, (_, n) => [n + 1, n + 1] as const)))
  for (let times = 0; times < 10; times++) sender.take(report, 1500)
  const first = drops.length
  expect(first).toBeGreaterThan(900)
  expect(first).toBeLessThan(1000)
  sender.tick(1500)
  sender.take(report, 1500)
  expect(drops).toHaveLength(first + 359)
  expect(new Set(drops)).toEqual(new Set([CONTROL.dropRequest]))
})

/** A sender without encryption, which has sent ten packets at 0. */
function plainSender({ latencyMs = 3000, windowPackets = 100 } = {}) {
  const [sent, controls]: [Buffer[], number[]] = [[], []]
  const sender = new SrtSender({
    sequence: 0,
    socketId: 1,
    latencyMs,
    windowPackets,
    keys: null,
    timeUs: () => 0,
    control: ({ type }) => void controls.push(type),
    data: (run) => void sent.push(Buffer.from(run)),
    lastedMs: (sinceMs, nowMs) => nowMs - sinceMs,
  })
  for (let count = 0; count < 10; count++) sender.send(Buffer.alloc(HEAD_BYTES + 188), 0)
  sent.length = 0
  return { sender, sent, controls }
}

test('a lost packet is sent again with a mark, once in a round trip, for as long as the receiver waits for it', () => {
  const { sender, sent, controls } = plainSender()
  const counts = [10, 50, 111, 2900, 3001].map((nowMs) => {
    sender.take(controlOf(CONTROL.nak, writeLosses([[3, 3]])), nowMs)
    return sent.length
  })
  expect([counts, controls]).toEqual([[1, 1, 2, 3, 3], [CONTROL.dropRequest]])
  expect(sent.map((packet) => (packet.readUInt32BE(4) & 0x0400_0000) !== 0)).toEqual([true, true, true])
})

test('the latest packet is sent again when it is not acknowledged in two round trips', () => {
  const { sender, sent } = plainSender()
  const counts = [150, 250].map((nowMs) => {
    sender.tick(nowMs)
    return sent.length
  })
  expect(counts).toEqual([0, 1])
})

test('no more is sent than the receiver takes in flight, or while it acknowledges nothing for longer than its latency', () => {
  expect(plainSender({ windowPackets: 10 }).sender.isFull(0)).toBe(true)
  const { sender } = plainSender()
  expect([0, 3700, 3800].map((nowMs) => sender.isFull(nowMs))).toEqual([false, false, true])
  // The latency, and the way there.
  expect(sender.unshownMs(0)).toBe(3100)
})

test('an acknowledgement without a round trip is not answered', () => {
  const { sender, controls } = plainSender()
  const whole = { sequence: 5, roundTripUs: 10_000, roundTripVarianceUs: 0, freePackets: 9 }
  const body = writeAcknowledgement({ ...whole, packetsPerSecond: 0, bytesPerSecond: 0 })
  const answers = [body.subarray(0, 4), body].map((one) => {
    sender.take(controlOf(CONTROL.ack, one), 10)
    return controls.length
  })
  expect([answers, sender.roundTripMs]).toEqual([[0, 1], 10])
})
