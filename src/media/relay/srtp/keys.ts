import { createCipheriv, createSecretKey, type KeyObject } from 'node:crypto'

/** A protection profile of DTLS-SRTP: RFC 5764 section 4.1.2, RFC 7714 section 14.2. */
export interface SrtpProfile {
  /** Its number in the `use_srtp` extension. */
  readonly id: 1 | 7
  readonly name: 'AES_CM_128_HMAC_SHA1_80' | 'AEAD_AES_128_GCM'
  readonly keyBytes: number
  readonly saltBytes: number
  readonly tagBytes: number
}

const GCM: SrtpProfile = { id: 7, name: 'AEAD_AES_128_GCM', keyBytes: 16, saltBytes: 12, tagBytes: 16 }
const CM: SrtpProfile = { id: 1, name: 'AES_CM_128_HMAC_SHA1_80', keyBytes: 16, saltBytes: 14, tagBytes: 10 }

/** The profiles that we accept, the preferred one first: GCM costs half as much as AES-CM with HMAC-SHA1. */
export const PROFILES: readonly SrtpProfile[] = [GCM, CM]

export const profileOf = (id: number | undefined): SrtpProfile | undefined => PROFILES.find((one) => one.id === id)

/** The master key and salt of one direction, as DTLS exports them. */
export interface MasterKeys {
  readonly profile: SrtpProfile
  readonly key: Buffer
  readonly salt: Buffer
}

/**
 * The session keys of one direction and one of RTP and RTCP. They are `KeyObject`s because Node 24 makes one out of a
 * plain buffer on every single call, which costs four times the encryption.
 */
export interface SessionKeys {
  readonly profile: SrtpProfile
  readonly encryption: KeyObject
  /** For AES-CM only; GCM authenticates by itself. */
  readonly authentication: KeyObject
  readonly salt: Buffer
}

/** The labels of RFC 3711 section 4.3.2: encryption, authentication, salt. */
const LABELS = { rtp: [0, 1, 2], rtcp: [3, 4, 5] } as const

/** Derives session keys (RFC 3711 section 4.3, with a key derivation rate of 0). */
export function deriveKeys(master: MasterKeys, use: keyof typeof LABELS): SessionKeys {
  const [encryption, authentication, salt] = LABELS[use]
  const { profile } = master
  return {
    profile,
    encryption: createSecretKey(derive(master, encryption, profile.keyBytes)),
    authentication: createSecretKey(derive(master, authentication, 20)),
    salt: derive(master, salt, profile.saltBytes),
  }
}

/** The first `length` bytes of the AES-CM key stream at `label * 2^48 XOR salt`, shifted left by 16 bits. */
function derive({ key, salt }: MasterKeys, label: number, length: number): Buffer {
  const iv = Buffer.alloc(16)
  salt.copy(iv)
  iv[7] = (iv[7] ?? 0) ^ label
  return createCipheriv('aes-128-ctr', key, iv).update(Buffer.alloc(length))
}
