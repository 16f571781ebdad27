import { generateKeyPairSync } from 'node:crypto'
import { DtlsServer } from 'werift'
import { afterEach, expect, it } from 'vitest'
import { PROFILES, profileOf } from '../../../src/media/relay/srtp/keys.ts'
import {
  type CertificateFingerprint,
  createTransport,
  DtlsHandshake,
  type HandshakeOptions,
} from '../../../src/media/relay/transport/dtls.ts'
import { addressOf, identity, WireNet, WirePeer } from '../../support/wirePeer.ts'

type Agreed = Parameters<HandshakeOptions['connected']>[0]
type Network = (datagram: Buffer) => Buffer[]

const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

/** Our client, and a server with this certificate and key. `network`: what arrives of each datagram. */
async function handshake({
  privateKey = identity.certificate.privateKey,
  fingerprint = identity.fingerprint,
  network = (one) => [one],
}: {
  privateKey?: string
  fingerprint?: CertificateFingerprint
  network?: Network
} = {}) {
  const { certPem, signatureHash } = identity.certificate
  const end = Promise.withResolvers<Agreed | string>()
  const client = new DtlsHandshake({
    identity,
    role: 'client',
    fingerprints: [fingerprint],
    send: (datagram) => {
      for (const one of network(Buffer.from(datagram))) setImmediate(() => transport.onData(one, ['', 0]))
    },
    connected: (keys) => end.resolve(keys),
    failed: (problem) => end.resolve(problem),
    closed: () => end.resolve('closed'),
  })
  const transport = createTransport((datagram) => {
    for (const one of network(Buffer.from(datagram))) setImmediate(() => client.receive(one, null))
  })
  const srtpProfiles = PROFILES.map(({ id }) => id)
  const options = { cert: certPem, key: privateKey, signatureHash, transport, srtpProfiles, extendedMasterSecret: true }
  const server = new DtlsServer(options)
  closers.push(() => client.close())
  client.start()
  return { agreed: await end.promise, server }
}

it.each<[string, Network]>([
  ['that arrives', (one) => [one]],
  ['that arrives twice', (one) => [one, one]],
])('a peer that waits is called, and agrees on keys over a network %s', async (_, network) => {
  const { agreed, server } = await handshake({ network })
  const profile = profileOf(server.srtp.srtpProfile)
  const { localKey, localSalt } = server.extractSessionKeys(profile?.keyBytes ?? 0, profile?.saltBytes ?? 0)
  expect(agreed).toMatchObject({ inbound: { profile, key: localKey, salt: localSalt } })
})

it('a peer with another certificate than that of its offer is refused', async () => {
  const value = identity.fingerprint.value.replace(/^../, (byte) => (byte === '00' ? '01' : '00'))
  const { agreed } = await handshake({ fingerprint: { algorithm: 'sha-256', value } })
  expect(agreed).toBe('the certificate is not the one of the offer')
})

it('a peer that does not hold the key of its certificate is refused', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const { agreed } = await handshake({ privateKey: pem })
  expect(agreed).toBe('the peer does not hold the key of its certificate')
})

it('a publisher whose offer is passive, as that of FFmpeg 8, goes on the air', async () => {
  const net = new WireNet()
  const peer = new WirePeer(net, addressOf(1))
  peer.setup = 'passive'
  const answer = net.relay.publish({
    sessionId: 's',
    room: 'a/show',
    sourceId: null,
    offer: peer.offer('sendonly').replace('BUNDLE 0', 'BUNDLE 0 1'),
    codec: null,
  })
  expect(answer).toMatchObject({ ok: true, answer: expect.stringContaining('a=setup:active') })
  peer.accept(answer)
  await peer.connect()
  peer.sendFrame(2, true)
  await net.pass(1000)
  expect(net.events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['connected', 'tracks', 'bytes']))
})
