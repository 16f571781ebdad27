import { hkdfSync } from 'node:crypto'
import type { Random } from '../../../base/random.ts'
import { type MasterKeys, profileOf } from '../srtp/keys.ts'
import type { RtpHead } from '../srtp/writer.ts'
import type { NativeBackEnd } from '../transport/nativeBackEnd.ts'
import type { NativeTransport } from '../transport/nativeTransport.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import type { Endpoint } from '../transport/socket.ts'
import { SrtpSession } from '../transport/srtpSession.ts'
import { parseRtcp, type RtcpPacket } from '../wire/rtcp/rtcp.ts'

/** The secrets of one link: of what the parent sends, and of what the child sends. Each is a key and a salt of AES-128-GCM. */
export interface LinkSecrets {
  readonly down: Uint8Array
  readonly up: Uint8Array
}

export interface LinkTransportOptions {
  readonly secrets: LinkSecrets
  /** Our end of the link. */
  readonly end: 'parent' | 'child'
  /** Where the other end listens. */
  readonly to: Endpoint
  readonly native: NativeBackEnd | null
  send(datagram: Uint8Array, to: Endpoint): void
}

const GCM = profileOf(7)
/** Behind each packet (RFC 7714 section 13.2). */
export const TAG_BYTES = 16

/** New secrets. A link has its own, so that no index is used twice with them. */
export const newLinkSecrets = (random: Random): LinkSecrets => ({
  down: random.bytes(secretBytes()),
  up: random.bytes(secretBytes()),
})

/** The secrets of one use of `key`, which no other use has (RFC 5869). */
export function derivedLinkSecrets(key: Uint8Array, use: string): LinkSecrets {
  const bytes = Buffer.from(hkdfSync('sha256', key, '', `sluice ${use}`, 2 * secretBytes()))
  return { down: bytes.subarray(0, secretBytes()), up: bytes.subarray(secretBytes()) }
}

/** Opens what the other end sends, and seals what this one does. */
export function linkSession(
  { down, up }: LinkSecrets,
  end: LinkTransportOptions['end'],
  native: NativeBackEnd | null,
): SrtpSession {
  return end === 'parent'
    ? new SrtpSession(keysOf(up), keysOf(down), native)
    : new SrtpSession(keysOf(down), keysOf(up), native)
}

/** One end of a link: RTP and RTCP in SRTP, with keys that both ends got beforehand. */
export class LinkTransport implements RtpSender {
  readonly isConnected = true
  readonly #options: LinkTransportOptions
  readonly #srtp: SrtpSession
  #to: Endpoint
  #isClosed = false

  constructor(options: LinkTransportOptions) {
    this.#options = options
    const { secrets, end, native, to } = options
    this.#srtp = linkSession(secrets, end, native)
    this.#to = to
    this.native?.route(to)
  }

  get native(): NativeTransport | null {
    return this.#srtp.native
  }

  /** The other end listens there from now on. */
  route(to: Endpoint): void {
    this.#to = to
    this.native?.route(to)
  }

  sendRtp(head: RtpHead, payload: Buffer): void {
    if (!this.#isClosed) this.#options.send(this.#srtp.sealRtp(head, payload), this.#to)
  }

  /** Sends several packets as one compound. */
  sendRtcp(...packets: readonly Buffer[]): void {
    if (!this.#isClosed) this.#options.send(this.#srtp.sealRtcp(Buffer.concat(packets)), this.#to)
  }

  /**
   * Decrypts the packet in a datagram in place, up to its last `TAG_BYTES`. Returns its index (`OpenedRtp.index`); null: it is of
   * another, or a replay.
   */
  openRtp(sealed: Buffer): number | null {
    return this.#isClosed ? null : this.#srtp.unsealRtp(sealed)
  }

  /** The packets in a datagram; null: it is of another, or a replay. */
  openRtcp(sealed: Buffer): readonly RtcpPacket[] | null {
    const compound = this.#isClosed ? undefined : this.#srtp.openRtcp(sealed)
    return compound === undefined ? null : parseRtcp(compound)
  }

  /** Forgets the keys. Nothing is sent after this. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#srtp.close()
  }
}

function secretBytes(): number {
  const { keyBytes, saltBytes } = gcm()
  return keyBytes + saltBytes
}

function keysOf(secret: Uint8Array): MasterKeys {
  const profile = gcm()
  if (secret.length !== secretBytes()) throw new Error(`the secret of a link has ${secret.length} bytes`)
  const bytes = Buffer.from(secret)
  return { profile, key: bytes.subarray(0, profile.keyBytes), salt: bytes.subarray(profile.keyBytes) }
}

function gcm(): NonNullable<typeof GCM> {
  if (GCM === undefined) throw new Error('AES-128-GCM is missing')
  return GCM
}
