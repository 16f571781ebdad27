import * as fc from 'fast-check'
import { DtlsClient } from 'werift'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  createIdentity,
  createTransport,
  DtlsHandshake,
  type Identity,
} from '../../../src/media/relay/transport/dtls.ts'
import { HandshakeOrder } from '../../../src/media/relay/transport/dtlsOrder.ts'
import { type MasterKeys, PROFILES, profileOf } from '../../../src/media/relay/srtp/keys.ts'

let identity: Identity
const closers: (() => void)[] = []
beforeAll(async () => {
  identity = await createIdentity()
})
afterEach(() => closers.splice(0).forEach((close) => close()))

/** A client and our side of it; what the client sends goes through `network`, which says what arrives, all at once. */
async function handshake(network: (sent: Buffer[]) => Buffer[]) {
  const keys: { inbound: MasterKeys; outbound: MasterKeys }[] = []
  const problems: string[] = []
  const ours = new DtlsHandshake({
    identity,
    fingerprints: [identity.fingerprint],
    send: (datagram) => setImmediate(() => transport.onData(Buffer.from(datagram), ['', 0])),
    connected: (agreed) => keys.push(agreed),
    failed: (problem) => problems.push(problem),
    closed: () => undefined,
  })
  let sent: Buffer[] = []
  const transport = createTransport((datagram) => {
    if (sent.push(Buffer.from(datagram)) > 1) return
    setImmediate(() => {
      const arrived = network(sent)
      sent = []
      for (const one of arrived) ours.receive(Buffer.from(one), null)
    })
  })
  const { certPem, privateKey, signatureHash } = identity.certificate
  const srtpProfiles = PROFILES.map(({ id }) => id)
  const made = { cert: certPem, key: privateKey, signatureHash, transport, srtpProfiles, extendedMasterSecret: true }
  const client = new DtlsClient(made)
  const connected = new Promise<void>((resolve) => client.onConnect.once(() => resolve()))
  closers.push(() => ours.close())
  await client.connect()
  await connected
  await expect.poll(() => keys.length).toBe(1)
  expect(problems).toEqual([])
  const profile = profileOf(client.srtp.srtpProfile)
  const { localKey, localSalt } = client.extractSessionKeys(profile?.keyBytes ?? 0, profile?.saltBytes ?? 0)
  expect(keys[0]?.inbound).toEqual({ profile, key: localKey, salt: localSalt })
}

describe('the handshake of a peer', () => {
  it('agrees on keys', () => handshake((sent) => sent))

  it('agrees on the same keys when all of a flight comes twice before it was answered', () =>
    handshake((sent) => [...sent, ...sent]))

  it('agrees on the same keys when each datagram comes three times', () =>
    handshake((sent) => sent.flatMap((one) => [one, one, one])))

  it('agrees on keys when what belongs together comes in another order, and then in its own', () =>
    handshake((sent) => [...sent.toReversed(), ...sent]))
})

interface Message {
  readonly type: number
  readonly number: number
  readonly length: number
}

/** A client's: two ClientHello, the certificate, the key exchange, the signature. */
const TYPES = [1, 1, 11, 16, 15]

function fragment({ type, number, length }: Message, begin: number, end: number): Buffer {
  const body = Buffer.alloc(12 + end - begin, number)
  body.writeUInt8(type, 0)
  body.writeUIntBE(length, 1, 3)
  body.writeUInt16BE(number, 4)
  body.writeUIntBE(begin, 6, 3)
  body.writeUIntBE(end - begin, 9, 3)
  return body
}

describe('messages of a handshake', () => {
  it('pass once each and whole, whatever is lost, repeated or out of order, if only the client goes on', () => {
    const lengths = fc.array(fc.nat(40), { minLength: TYPES.length, maxLength: TYPES.length })
    const noise = fc.array(fc.record({ at: fc.nat(200), isLost: fc.boolean() }), { maxLength: 60 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 20 }), noise, (sizes, size, disorder) => {
        const order = new HandshakeOrder()
        const passed: string[] = []
        const give = (body: Buffer): void => {
          if (order.takes(body)) passed.push(body.toString('hex'))
        }
        const fragments = TYPES.flatMap((type, number) => {
          const message = { type, number, length: sizes[number] ?? 0 }
          const begins = Array.from({ length: Math.max(1, Math.ceil(message.length / size)) }, (_, at) => at * size)
          return begins.map((begin) => fragment(message, begin, Math.min(message.length, begin + size)))
        })
        for (const [at, body] of fragments.entries()) {
          for (const { at: other } of disorder.filter(({ isLost }) => isLost)) {
            // Of what comes later nothing may pass, and of what came before nothing again, but for a ClientHello.
            const one = fragments[(at + 1 + other) % fragments.length]
            if (one !== undefined && one !== body && one[0] !== 1) give(one)
          }
          give(body)
          if (body[0] !== 1) give(body)
        }
        expect(passed).toEqual(fragments.map((one) => one.toString('hex')))
      }),
      { numRuns: 300 },
    )
  })

  it('a ClientHello may come again until the next message has come, in one piece or in several', () => {
    const order = new HandshakeOrder()
    const hello = { type: 1, number: 0, length: 30 }
    const pieces = [fragment(hello, 0, 20), fragment(hello, 20, 30)]
    for (let times = 0; times < 3; times++) expect(pieces.map((one) => order.takes(one))).toEqual([true, true])
    expect(order.takes(fragment({ type: 1, number: 1, length: 5 }, 0, 5))).toBe(true)
    expect(pieces.map((one) => order.takes(one))).toEqual([false, false])
    expect(order.takes(fragment({ type: 11, number: 2, length: 5 }, 0, 5))).toBe(true)
    expect(order.takes(fragment({ type: 1, number: 1, length: 5 }, 0, 5))).toBe(false)
  })

  it('several of one record pass together or not at all', () => {
    const order = new HandshakeOrder()
    const [first, second] = [0, 1].map((number) => fragment({ type: 11, number, length: 4 }, 0, 4)) as [Buffer, Buffer]
    expect(order.takes(Buffer.concat([first, first]))).toBe(false)
    expect(order.takes(Buffer.concat([first, second]))).toBe(true)
    expect(order.takes(second)).toBe(false)
  })

  it('garbage does not pass, and disturbs nothing', () => {
    const order = new HandshakeOrder()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const body = Buffer.from(bytes)
        if (body.length >= 6 && body.readUInt16BE(4) === 0) body.writeUInt16BE(7, 4)
        expect(order.takes(body)).toBe(false)
      }),
    )
    expect(order.takes(fragment({ type: 1, number: 0, length: 9 }, 0, 9))).toBe(true)
  })
})
