import { createHash, createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto'
import { DtlsClient, DtlsServer, RTCDtlsTransport, type Transport } from 'werift'
import { answerProved } from './dtlsHello.ts'
import { HandshakeOrder } from './dtlsOrder.ts'
import { ALERT, cookieIn, HANDSHAKE, RECORD_HEADER, recordsOf } from './dtlsRecords.ts'
import { exchangeKeysByOpenSsl } from './keyExchange.ts'
import { type MasterKeys, PROFILES, profileOf } from '../srtp/keys.ts'

/** The certificate of this process, and its fingerprint for answers (RFC 8122). */
export interface Identity {
  readonly fingerprint: CertificateFingerprint
  readonly certificate: Awaited<ReturnType<typeof RTCDtlsTransport.SetupCertificate>>
  /** Of the certificate. */
  readonly key: KeyObject
  /** What makes handshakes slow, a sentence for the log; null: nothing. */
  readonly note: string | null
}

export interface CertificateFingerprint {
  /** `sha-256`, in lower case. */
  readonly algorithm: string
  /** Pairs of upper case hexadecimal digits with colons between. */
  readonly value: string
}

/** Makes the self-signed certificate of this process, ECDSA on P-256, and has OpenSSL compute the keys of its handshakes. */
export async function createIdentity(): Promise<Identity> {
  const certificate = await RTCDtlsTransport.SetupCertificate()
  const der = new X509Certificate(certificate.certPem).raw
  const fingerprint = { algorithm: 'sha-256', value: digest('sha256', der) }
  const key = createPrivateKey(certificate.privateKey)
  return { certificate, key, fingerprint, note: exchangeKeysByOpenSsl() }
}

export interface HandshakeOptions {
  readonly identity: Identity
  /** Ours: `client` for a peer that only waits (`a=setup:passive` in its offer). */
  readonly role: 'server' | 'client'
  /** The fingerprints of the peer's SDP: its certificate must match one of them. */
  readonly fingerprints: readonly CertificateFingerprint[]
  send(datagram: Buffer): void
  /** The peer proved that it made the offer. */
  connected(keys: { readonly inbound: MasterKeys; readonly outbound: MasterKeys }): void
  /** The peer has another certificate, or the handshake failed. */
  failed(problem: string): void
  /** The peer sent a close_notify. */
  closed(): void
}

/** How an address proves that it receives our packets: it repeats a cookie (RFC 6347 section 4.2.1). */
export interface AddressProof {
  /** 20 bytes that only a receiver at that address can know. */
  readonly cookie: Buffer
  proved(): void
}

/** Records that one handshake may take, and repeated Finished after it. An honest one in which all is lost twice needs fewer. */
const MAX_RECORDS = 200
const DTLS_1_2 = 0xfefd
const FATAL = 2
const SERVER_KEY_EXCHANGE = 12
const CERTIFICATE_VERIFY = 15
/** The head of a Finished in one piece (RFC 5246 section 7.4.9): type and length; with the rest of the head and its 12 bytes. */
const FINISHED = (20 << 24) | 12
const FINISHED_BYTES = 24
/** werift's names for our side. */
const SIDES = { client: 1, server: 2 } as const
/** Past the last flight of a handshake: what waits to be sent again gives up. */
const NO_FLIGHT = 99

/**
 * Our side of DTLS with one peer: the server, or the client of a peer that waits for us. werift does the handshake. It leaves two
 * checks to its user, which are done here: the certificate is the one of the offer, and the peer holds its private key.
 */
export class DtlsHandshake {
  readonly #options: HandshakeOptions
  readonly #peer: DtlsServer | DtlsClient
  readonly #order = new HandshakeOrder()
  #records = 0
  /** Of the address of the datagram that is being handled. */
  #isProved = false
  #isOver = false
  #isConnected = false
  #hasStarted = false
  readonly #transport: Transport

  constructor(options: HandshakeOptions) {
    this.#options = options
    this.#transport = createTransport((datagram) => {
      if (!this.#isOver) options.send(datagram)
    })
    const { certPem, privateKey, signatureHash } = options.identity.certificate
    const Peer = options.role === 'server' ? DtlsServer : DtlsClient
    this.#peer = new Peer({
      cert: certPem,
      key: privateKey,
      signatureHash,
      transport: this.#transport,
      srtpProfiles: PROFILES.map(({ id }) => id),
      extendedMasterSecret: true,
      certificateRequest: options.role === 'server',
    })
    // werift reads the key from its text for each signature, which takes several times as long as to sign.
    const { key } = options.identity
    this.#peer.cipher.localPrivateKey.sign = (data, hash) => sign(hash, data, key)
    if (this.#peer instanceof DtlsServer) answerProved(this.#peer, this.#transport, () => this.#isProved)
    this.#peer.onConnect.once(() => this.#finish())
    this.#peer.onError.subscribe((error: unknown) => this.#fail(String(error)))
  }

  /** The peer can be reached. The client says hello, until it is answered; a server waits. */
  start(): void {
    const { role } = this.#options
    if (this.#hasStarted || this.#isOver || role === 'server' || !(this.#peer instanceof DtlsClient)) return
    this.#hasStarted = true
    this.#peer.connect().catch((error: unknown) => this.#fail(String(error)))
  }

  /** Handles a datagram of DTLS records. `proof`: null when its address needs none. */
  receive(datagram: Buffer, proof: AddressProof | null): void {
    if (this.#isOver) return
    for (const record of recordsOf(datagram)) {
      if (this.#isConnected) this.#receiveAfterwards(record)
      else this.#receiveHandshake(record, proof)
    }
  }

  /** Sends a close_notify, best effort, and forgets the peer. */
  close(): void {
    if (this.#isConnected && !this.#isOver) this.#options.send(this.#closeNotify())
    this.#isOver = true
    this.#peer.dtls.flight = NO_FLIGHT
    for (const event of [this.#peer.onConnect, this.#peer.onError, this.#peer.onClose]) event.allUnsubscribe()
  }

  #receiveHandshake(record: Buffer, proof: AddressProof | null): void {
    this.#records += 1
    this.#isProved = proof === null
    // Anyone can forge an alert in the clear. A peer that gave up is noticed by its silence.
    if (this.#records > MAX_RECORDS || record[0] === ALERT) return
    const isClear = record.readUInt16BE(3) === 0
    if (record[0] === HANDSHAKE && isClear) {
      const body = record.subarray(RECORD_HEADER)
      if (!this.#order.takes(body)) return
      this.#expectCookie(cookieIn(body), proof)
    }
    try {
      this.#transport.onData(record, ['', 0])
    } catch {
      // Malformed. An honest peer retransmits a correct one.
    }
  }

  /** werift compares the cookie of a ClientHello with one cookie for all addresses. This sets the cookie of the address. */
  #expectCookie(cookie: Buffer | null, proof: AddressProof | null): void {
    const { dtls } = this.#peer
    if (cookie === null) return
    if (proof !== null) {
      dtls.cookie = proof.cookie
      if (cookie.equals(proof.cookie)) proof.proved()
    } else if (cookie.length > 0) dtls.cookie = cookie
  }

  /**
   * After the handshake only encrypted records count (epoch 1): a forged ClientHello would otherwise restart the handshake, and
   * a forged alert would end it. A repeated Finished means that ours was lost; werift answers it. It gets nothing else: the peer
   * itself would restart the handshake by a ClientHello, and werift keeps pieces of messages without a bound.
   */
  #receiveAfterwards(record: Buffer): void {
    const message = record.readUInt16BE(3) === 1 ? this.#decrypted(record) : null
    if (message === null) return
    if (record[0] === ALERT && isEnd(message)) this.#endedByPeer()
    if (record[0] === HANDSHAKE && isFinished(message) && ++this.#records <= MAX_RECORDS)
      this.#transport.onData(record, ['', 0])
  }

  /** Null: it is not of the peer. */
  #decrypted(record: Buffer): Buffer | null {
    const [type = 0, sequenceNumber] = [record[0], record.readUIntBE(5, 6)]
    const header = { type, version: DTLS_1_2, epoch: 1, sequenceNumber }
    try {
      return this.#peer.cipher.cipher.decrypt(SIDES[this.#options.role], record.subarray(RECORD_HEADER), header)
    } catch {
      return null
    }
  }

  /** An encrypted alert of level 1 and description 0 (RFC 5246 section 7.2.1). */
  #closeNotify(): Buffer {
    const { dtls, cipher } = this.#peer
    dtls.recordSequenceNumber += 1
    const sequenceNumber = dtls.recordSequenceNumber
    const plain = { type: ALERT, version: DTLS_1_2, epoch: 1, sequenceNumber }
    const body = cipher.cipher.encrypt(SIDES[this.#options.role], Buffer.from([1, 0]), plain)
    const header = Buffer.alloc(RECORD_HEADER)
    header[0] = ALERT
    header.writeUInt16BE(DTLS_1_2, 1)
    header.writeUInt16BE(1, 3)
    header.writeUIntBE(sequenceNumber, 5, 6)
    header.writeUInt16BE(body.length, 11)
    return Buffer.concat([header, body])
  }

  #finish(): void {
    const problem = this.#findProblem()
    const profile = profileOf(this.#peer.srtp.srtpProfile)
    if (problem !== undefined || profile === undefined) {
      this.#fail(problem ?? 'no SRTP profile in common')
      return
    }
    this.#isConnected = true
    const keys = this.#peer.extractSessionKeys(profile.keyBytes, profile.saltBytes)
    this.#options.connected({
      inbound: { profile, key: keys.remoteKey, salt: keys.remoteSalt },
      outbound: { profile, key: keys.localKey, salt: keys.localSalt },
    })
  }

  #findProblem(): string | undefined {
    const certificate = this.#peer.remoteCertificate
    if (certificate === undefined) return 'the peer showed no certificate'
    if (!hasFingerprint(certificate, this.#options.fingerprints)) return 'the certificate is not the one of the offer'
    const holdsKey =
      this.#options.role === 'server' ? this.#signedByClient(certificate) : this.#signedByServer(certificate)
    return holdsKey ? undefined : 'the peer does not hold the key of its certificate'
  }

  /** Checks CertificateVerify, a signature of all handshake messages before it (RFC 5246 section 7.4.8). */
  #signedByClient(certificate: Buffer): boolean {
    const messages = this.#peer.dtls.sortedHandshakeCache
    const at = messages.findIndex(({ msg_type }) => msg_type === CERTIFICATE_VERIFY)
    const body = messages[at]?.fragment
    return (
      body !== undefined &&
      isSigned(
        certificate,
        messages.slice(0, at).map((one) => one.serialize()),
        body,
      )
    )
  }

  /**
   * Checks the signature of the server's half of the key exchange (RFC 8422 section 5.4). The extended master secret binds the
   * keys to all messages (RFC 7627), so that Finished, which werift does not compare, cannot be from another handshake.
   */
  #signedByServer(certificate: Buffer): boolean {
    const { dtls, cipher } = this.#peer
    const body = dtls.sortedHandshakeCache.find(({ msg_type }) => msg_type === SERVER_KEY_EXCHANGE)?.fragment
    if (!dtls.remoteExtendedMasterSecret || body === undefined || body.length < 4) return false
    // Type and name of the curve, then the public key with its length.
    const end = 4 + body.readUInt8(3)
    const randoms = [cipher.localRandom.serialize(), cipher.remoteRandom.serialize()]
    return isSigned(certificate, [...randoms, body.subarray(0, end)], body.subarray(end))
  }

  #fail(problem: string): void {
    if (this.#isOver || this.#isConnected) return
    this.close()
    this.#options.failed(problem)
  }

  #endedByPeer(): void {
    this.close()
    this.#options.closed()
  }
}

/** A close_notify, or an alert that is fatal (RFC 5246 section 7.2). */
const isEnd = (alert: Buffer): boolean => alert.length === 2 && (alert[0] === FATAL || alert[1] === 0)

const isFinished = (message: Buffer): boolean =>
  message.length === FINISHED_BYTES && message.readUInt32BE(0) === FINISHED

/** Whether `signature` (hash, algorithm, length, bytes; RFC 5246 section 4.7) is one of `parts` by this certificate. */
function isSigned(certificate: Buffer, parts: readonly Buffer[], signature: Buffer): boolean {
  const hash = { 4: 'sha256', 5: 'sha384', 6: 'sha512' }[signature[0] ?? 0]
  if (hash === undefined || signature.length < 4) return false
  const bytes = signature.subarray(4, 4 + signature.readUInt16BE(2))
  try {
    return verify(hash, Buffer.concat(parts), new X509Certificate(certificate).publicKey, bytes)
  } catch {
    return false
  }
}

/** The socket that werift sees. */
export const createTransport = (send: (datagram: Buffer) => void): Transport => ({
  type: 'udp',
  address: { address: '', family: '', port: 0 },
  closed: false,
  onData: () => undefined,
  send: async (datagram) => send(datagram),
  close: async () => undefined,
})

/** `AB:CD:…` of a DER certificate. */
const digest = (hash: string, der: Buffer): string =>
  (createHash(hash).update(der).digest('hex').toUpperCase().match(/../g) ?? []).join(':')

/** The hashes of fingerprints, by their names in SDP (RFC 8122 section 5). SHA-1 is too weak. */
const HASHES: Readonly<Record<string, string>> = { 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512' }

function hasFingerprint(certificate: Buffer, fingerprints: readonly CertificateFingerprint[]): boolean {
  return fingerprints.some(({ algorithm, value }) => {
    const hash = HASHES[algorithm.toLowerCase()]
    return hash !== undefined && digest(hash, certificate) === value.toUpperCase()
  })
}
