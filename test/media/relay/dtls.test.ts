import { x25519 } from '@noble/curves/ed25519'
import { p256 } from '@noble/curves/p256'
import { sha256 } from '@noble/hashes/sha2'
import { DtlsClient, NamedCurveAlgorithmList } from 'werift'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type AddressProof,
  createIdentity,
  createTransport,
  DtlsHandshake,
  type Identity,
} from '../../../src/media/relay/transport/dtls.ts'
import { nacl } from '../../../src/media/relay/transport/keyExchange.ts'
import { isHelloVerifyRequest } from '../../../src/media/relay/transport/dtlsRecords.ts'
import { type MasterKeys, PROFILES, profileOf } from '../../../src/media/relay/srtp/keys.ts'
import { fragment } from './handshakeFragment.ts'

/** Often, and however busy the machine is. */
const POLL = { interval: 2, timeout: 30_000 }
let identity: Identity
const closers: (() => void)[] = []
beforeAll(async () => {
  identity = await createIdentity()
})
afterEach(() => closers.splice(0).forEach((close) => close()))

/** Whether a datagram is no repeated one: after a pause of this process timers send flights again, of which nothing was lost. */
function firstTimes(): (datagram: Buffer) => boolean {
  const sent = new Set<string>()
  return (datagram) => sent.size < sent.add(datagram.toString('latin1')).size
}

/** A client and our side of it; what the client sends goes through `network`, which says what arrives, all at once. */
async function handshake(
  network: (sent: Buffer[]) => Buffer[],
  fingerprints = [identity.fingerprint],
  proofOf: () => AddressProof | null = () => null,
) {
  const sentByUs: Buffer[] = []
  const isFresh = { ofOurs: firstTimes(), ofClient: firstTimes() }
  const ends: string[] = []
  const keys: { inbound: MasterKeys; outbound: MasterKeys }[] = []
  const problems: string[] = []
  const ours = new DtlsHandshake({
    identity,
    role: 'server',
    fingerprints,
    send: (datagram) => {
      sentByUs.push(Buffer.from(datagram))
      if (isFresh.ofOurs(datagram)) setImmediate(() => transport.onData(Buffer.from(datagram), ['', 0]))
    },
    connected: (agreed) => keys.push(agreed),
    failed: (problem) => problems.push(problem),
    closed: () => ends.push('closed'),
  })
  const hello: Buffer[] = []
  let sent: Buffer[] = []
  const transport = createTransport((datagram) => {
    hello.push(Buffer.from(datagram))
    if (!isFresh.ofClient(datagram)) return
    if (sent.push(Buffer.from(datagram)) > 1) return
    setImmediate(() => {
      const arrived = network(sent)
      sent = []
      for (const one of arrived) ours.receive(Buffer.from(one), proofOf())
    })
  })
  const { certPem, privateKey, signatureHash } = identity.certificate
  const srtpProfiles = PROFILES.map(({ id }) => id)
  const made = { cert: certPem, key: privateKey, signatureHash, transport, srtpProfiles, extendedMasterSecret: true }
  const client = new DtlsClient(made)
  const connected = new Promise<void>((resolve) => client.onConnect.once(() => resolve()))
  closers.push(
    () => ours.close(),
    () => (client.dtls.flight = 99),
  )
  void client.connect()
  await expect.poll(() => keys.length + problems.length, POLL).toBe(1)
  if (problems.length > 0) throw new Error(problems.join())
  await connected
  const profile = profileOf(client.srtp.srtpProfile)
  const { localKey, localSalt } = client.extractSessionKeys(profile?.keyBytes ?? 0, profile?.saltBytes ?? 0)
  expect(keys[0]?.inbound).toEqual({ profile, key: localKey, salt: localSalt })
  return { ours, client, sentByUs, ends, hello: hello[0] ?? Buffer.alloc(0), finished: hello.at(-1) ?? Buffer.alloc(0) }
}

/** `CLIENT`: werift's name for the side of the client. */
const [ALERT, CLIENT, VERSION] = [21, 1, 0xfefd] as const
type Running = Awaited<ReturnType<typeof handshake>>

/** An alert of the client, encrypted unless it is of epoch 0. */
function alertOf(
  { client }: Running,
  bytes: number[],
  { epoch = 1, type = ALERT }: { epoch?: number; type?: number } = {},
): Buffer {
  client.dtls.recordSequenceNumber += 1
  const sequenceNumber = client.dtls.recordSequenceNumber
  const plain = { type, version: VERSION, epoch: 1, sequenceNumber }
  const body = epoch === 0 ? Buffer.from(bytes) : client.cipher.cipher.encrypt(CLIENT, Buffer.from(bytes), plain)
  const head = Buffer.alloc(13)
  head[0] = type
  head.writeUInt16BE(VERSION, 1)
  head.writeUInt16BE(epoch, 3)
  head.writeUIntBE(sequenceNumber, 5, 6)
  head.writeUInt16BE(body.length, 11)
  return Buffer.concat([head, body])
}

describe('a peer that is connected', () => {
  const whole = (sent: Buffer[]): Buffer[] => sent

  it('ends by an alert that only it can have encrypted, and by no other', async () => {
    const running = await handshake(whole)
    const { ours, ends } = running
    const forged = alertOf(running, [1, 0])
    forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1
    for (const alert of [
      alertOf(running, [1, 0], { epoch: 0 }),
      alertOf(running, [2, 40], { epoch: 0 }),
      alertOf(running, [1, 90]),
      alertOf(running, [1, 0, 0]),
      alertOf(running, [1, 0], { type: 23 }),
      forged,
    ])
      ours.receive(alert, null)
    expect(ends).toEqual([])
    for (let times = 0; times < 2; times++) ours.receive(alertOf(running, [1, 0]), null)
    expect(ends).toEqual(['closed'])
    const failing = await handshake(whole)
    failing.ours.receive(alertOf(failing, [2, 40]), null)
    expect(failing.ends).toEqual(['closed'])
  })

  it('is told the end by an alert that it can read, once', async () => {
    const { ours, client, sentByUs } = await handshake(whole)
    const before = sentByUs.length
    for (let times = 0; times < 2; times++) ours.close()
    const [alert = Buffer.alloc(13), ...more] = sentByUs.slice(before)
    expect([more, alert[0], alert.readUInt16BE(1), alert.readUInt16BE(3), alert.readUInt16BE(11)]).toEqual([
      [],
      ALERT,
      VERSION,
      1,
      alert.length - 13,
    ])
    const sequenceNumber = alert.readUIntBE(5, 6)
    const head = { type: ALERT, version: VERSION, epoch: 1, sequenceNumber }
    expect([...client.cipher.cipher.decrypt(CLIENT, alert.subarray(13), head)]).toEqual([1, 0])
  })

  it('begins no other handshake, and none at all after its end', async () => {
    const { ours, sentByUs, hello } = await handshake(whole)
    const before = sentByUs.length
    ours.receive(hello, null)
    ours.close()
    ours.receive(hello, null)
    expect(sentByUs).toHaveLength(before + 1)
  })

  it('ended the process, or filled its memory, by encrypted messages of another handshake', async () => {
    const running = await handshake(whole)
    const { ours, client, sentByUs, hello } = running
    const clientHello = hello.subarray(13)
    const [before, handshakeType] = [sentByUs.length, { type: 22 }]
    const piece = fragment({ type: 11, number: 9, length: 1000 }, 0, 500)
    const finished = fragment({ type: 20, number: 9, length: 12 }, 0, 12)
    for (const message of [clientHello, piece, Buffer.concat([finished, clientHello]), Buffer.alloc(0)])
      ours.receive(alertOf(running, [...message], handshakeType), null)
    // What was decided on would be sent by now.
    await new Promise((resolve) => setImmediate(resolve))
    expect(sentByUs).toHaveLength(before)
    ours.close()
    const alert = sentByUs.at(-1) ?? Buffer.alloc(13)
    const head = { type: ALERT, version: VERSION, epoch: 1, sequenceNumber: alert.readUIntBE(5, 6) }
    expect([...client.cipher.cipher.decrypt(CLIENT, alert.subarray(13), head)]).toEqual([1, 0])
  })

  it('is answered again when it repeats its last message, a bounded number of times', async () => {
    const { ours, sentByUs, finished } = await handshake(whole)
    const before = sentByUs.length
    ours.receive(finished, null)
    await expect.poll(() => sentByUs.length, POLL).toBeGreaterThan(before)
    for (let times = 0; times < 300; times++) ours.receive(finished, null)
    const answered = sentByUs.length
    await expect.poll(() => sentByUs.length, POLL).toBeGreaterThan(answered)
    // Of these no more than a handshake may have, and each is answered by two records.
    expect(sentByUs.length - before).toBeLessThanOrEqual(2 * 200)
  })

  it('may name its certificate by several fingerprints, of which one has to be right', () => {
    const { value } = identity.fingerprint
    const wrong = { algorithm: 'sha-256', value: value.replace(/^../, value.startsWith('00') ? '01' : '00') }
    const right = { algorithm: 'SHA-256', value: value.toLowerCase() }
    return handshake(whole, [{ algorithm: 'sha-1', value }, wrong, right])
  })

  it('is refused when no fingerprint of its offer is that of its certificate', async () => {
    const { value } = identity.fingerprint
    const refused = handshake(whole, [{ algorithm: 'sha-1', value }])
    await expect(refused).rejects.toThrow('the certificate is not the one of the offer')
  })
})

it('a handshake takes a bounded number of records, and no hello without the cookie for a proof', async () => {
  const sent: Buffer[] = []
  let proofs = 0
  const nothing = (): undefined => undefined
  const records = (count: number, hello: Buffer): number => {
    const ours = new DtlsHandshake({
      identity,
      role: 'server',
      fingerprints: [identity.fingerprint],
      send: (datagram) => void sent.push(datagram),
      connected: nothing,
      failed: nothing,
      closed: nothing,
    })
    const empty = Buffer.from([22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    ours.receive(Buffer.concat(Array.from({ length: count }, () => empty)), null)
    ours.receive(hello, { cookie: Buffer.alloc(20, 7), proved: () => (proofs += 1) })
    ours.close()
    return sent.splice(0).length
  }
  let hello = Buffer.alloc(0)
  const transport = createTransport((datagram) => (hello = Buffer.from(datagram)))
  const { certPem, privateKey, signatureHash } = identity.certificate
  const client = new DtlsClient({ cert: certPem, key: privateKey, signatureHash, transport, srtpProfiles: [1] })
  // It would send its first flight for half a minute, and then throw.
  closers.push(() => (client.dtls.flight = 3))
  void client.connect()
  await expect.poll(() => hello.length, POLL).toBeGreaterThan(0)
  expect([records(199, hello), records(200, hello), proofs]).toEqual([1, 0, 0])
})

describe.each([
  ['at an address that has proved itself', null, 0],
  ['at an address without a proof', { cookie: Buffer.alloc(20, 7), proved: () => undefined }, 1],
])('the handshake of a peer %s', (_where, proof, cookies) => {
  const through = (network: (sent: Buffer[]) => Buffer[]) => handshake(network, undefined, () => proof)

  it('agrees on keys, and asks for a cookie only without a proof', async () => {
    const { sentByUs } = await through((sent) => sent)
    expect(sentByUs.filter(isHelloVerifyRequest)).toHaveLength(cookies)
  })

  it('agrees on the same keys when all of a flight comes twice before it was answered', () =>
    through((sent) => [...sent, ...sent]))

  it('agrees on the same keys when each datagram comes three times', () =>
    through((sent) => sent.flatMap((one) => [one, one, one])))

  it('agrees on keys when what belongs together comes in another order, and then in its own', () =>
    through((sent) => [...sent.toReversed(), ...sent]))
})

it('a peer that was asked for a cookie has to repeat it, although its address has proved itself since', async () => {
  const proofs = [{ cookie: Buffer.alloc(20, 7), proved: () => undefined }]
  const { sentByUs } = await handshake(
    (sent) => [...sent, ...sent],
    undefined,
    () => proofs.shift() ?? null,
  )
  expect(sentByUs.filter(isHelloVerifyRequest)).toHaveLength(2)
})

describe('the key exchange', () => {
  const [P256, X25519] = [23, 29]
  /** Behind the heads of record and message and the length of the point. */
  const POINT_AT = 13 + 12 + 1
  /** Whether a datagram of a client has its half of the exchange. */
  const isPoint = (datagram: Buffer): boolean => datagram[0] === 22 && datagram[4] === 0 && datagram[13] === 16
  const reference = p256.create(sha256)
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  afterEach(() => vi.restoreAllMocks())

  /** With the one curve that the client offers; a server takes the first that it knows. */
  function withCurve(curve: number, network: (sent: Buffer[]) => Buffer[]): Promise<Running> {
    const offered = NamedCurveAlgorithmList.splice(0)
    NamedCurveAlgorithmList.push(curve as 23 | 29)
    return handshake(network).finally(() => NamedCurveAlgorithmList.splice(0, 1, ...offered))
  }

  it.each([P256, X25519])(
    'with curve %d calls what was put into the place of the libraries, once at each end',
    async (curve) => {
      const [fromKey, secret] = [vi.spyOn(p256, 'getPublicKey'), vi.spyOn(p256, 'getSharedSecret')]
      const [pair, multiplied] = [vi.spyOn(nacl.box, 'keyPair'), vi.spyOn(nacl, 'scalarMult')]
      const { client } = await withCurve(curve, (sent) => sent)
      const { localKeyPair, remoteKeyPair } = client.cipher
      const points = [localKeyPair.publicKey, remoteKeyPair.publicKey ?? Buffer.alloc(0)].map(hex).toSorted()
      // A handshake that a test of another file left goes on in this thread: only calls for these two points count.
      const calls = [
        fromKey.mock.results.map(({ value }) => hex(value as Uint8Array)),
        secret.mock.calls.map(([, point]) => hex(point as Uint8Array)),
        pair.mock.results.map(({ value }) => hex((value as { publicKey: Uint8Array }).publicKey)),
        multiplied.mock.calls.map(([, point]) => hex(point)),
      ].map((all) => all.filter((one) => points.includes(one)).toSorted())
      expect(calls).toEqual(curve === P256 ? [points, points, [], []] : [[], [], points, points])
    },
  )

  it.each([P256, X25519])(
    'with curve %d fails with its handshake alone, when the peer sends no point',
    async (curve) => {
      const withoutPoint = (sent: Buffer[]): Buffer[] => sent.map((one) => (isPoint(one) ? one.fill(0, POINT_AT) : one))
      await expect(withCurve(curve, withoutPoint)).rejects.toThrow(/^Error/)
    },
  )

  it('is that of OpenSSL, which takes no texts, and no point of small order', () => {
    const [text, { secretKey }] = ['01'.repeat(32), nacl.box.keyPair()]
    expect(() => p256.getPublicKey(text, false)).toThrow('must be bytes')
    expect(() => p256.getSharedSecret(text, p256.getPublicKey(secretKey, false))).toThrow('must be bytes')
    expect(() => nacl.scalarMult(secretKey, Buffer.alloc(32))).toThrow()
    expect(nacl.box.keyPair).not.toHaveProperty('fromSecretKey')
    expect(identity.note).toBeNull()
  })

  it('agrees with other implementations', () => {
    for (let times = 0; times < 20; times++) {
      const [own, other] = [p256.utils.randomPrivateKey(), p256.utils.randomPrivateKey()]
      expect(p256.getPublicKey(own, false)).toEqual(reference.getPublicKey(own, false))
      const point = reference.getPublicKey(other, false)
      expect(p256.getSharedSecret(own, point).subarray(1)).toEqual(reference.getSharedSecret(own, point).subarray(1))
      const { secretKey, publicKey } = nacl.box.keyPair()
      expect([secretKey.buffer.byteLength, publicKey.buffer.byteLength]).toEqual([32, 32])
      expect(publicKey).toEqual(x25519.getPublicKey(secretKey))
      const secret = nacl.scalarMult(secretKey, x25519.getPublicKey(own))
      expect(Buffer.from(secret)).toEqual(Buffer.from(x25519.getSharedSecret(own, publicKey)))
    }
  })

  it('refuses points that are not on the curve', () => {
    const own = p256.utils.randomPrivateKey()
    const point = Buffer.from(reference.getPublicKey(own, false))
    point[64] = (point[64] ?? 0) ^ 1
    for (const bad of [point, Buffer.from([0])]) expect(() => p256.getSharedSecret(own, bad)).toThrow()
    expect(() => nacl.scalarMult(own, Buffer.alloc(31, 9))).toThrow()
  })
})
