import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import type { SessionKeys } from './keys.ts'

/**
 * AEAD_AES_128_GCM (RFC 7714). `aad` is authenticated and stays clear; returns the encrypted body and its tag.
 */
export function sealGcm(keys: SessionKeys, nonce: Buffer, aad: Uint8Array, plain: Uint8Array): SealedGcm {
  const cipher = createCipheriv('aes-128-gcm', keys.encryption, nonce)
  cipher.setAAD(aad)
  const body = cipher.update(plain)
  cipher.final()
  return { body, tag: cipher.getAuthTag() }
}

interface SealedGcm {
  readonly body: Buffer
  readonly tag: Buffer
}

/** The plain text, or undefined when the packet is not genuine. */
export function openGcm(keys: SessionKeys, nonce: Buffer, aad: Uint8Array, sealed: Uint8Array): Buffer | undefined {
  const tagAt = sealed.length - keys.profile.tagBytes
  if (tagAt < 0) return undefined
  const cipher = createDecipheriv('aes-128-gcm', keys.encryption, nonce, { authTagLength: 16 })
  cipher.setAAD(aad)
  cipher.setAuthTag(sealed.subarray(tagAt))
  const plain = cipher.update(sealed.subarray(0, tagAt))
  try {
    cipher.final()
    return plain
  } catch {
    return undefined
  }
}

/** AES in counter mode, for both directions (RFC 3711 section 4.1.1). */
export const applyCounter = (keys: SessionKeys, iv: Buffer, body: Uint8Array): Buffer =>
  createCipheriv('aes-128-ctr', keys.encryption, iv).update(body)

/** The first 80 bits of HMAC-SHA1 (RFC 3711 section 4.2.1). */
export function tagOf(keys: SessionKeys, ...parts: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('sha1', keys.authentication)
  for (const part of parts) hmac.update(part)
  return hmac.digest().subarray(0, keys.profile.tagBytes)
}

export const isTag = (given: Uint8Array, right: Buffer): boolean =>
  given.length === right.length && timingSafeEqual(given, right)

/** RFC 7714 section 8.1: (two zero bytes, SSRC, roll-over count, sequence number) XOR salt. Valid until the next call. */
export function rtpNonce({ salt }: SessionKeys, ssrc: number, rollovers: number, sequence: number): Buffer {
  NONCE.writeUInt16BE(0)
  NONCE.writeUInt32BE(ssrc, 2)
  NONCE.writeUInt32BE(rollovers, 6)
  NONCE.writeUInt16BE(sequence, 10)
  return mix(NONCE, salt)
}

/** RFC 7714 section 9.1: (two zero bytes, SSRC, two zero bytes, packet index) XOR salt. Valid until the next call. */
export function rtcpNonce({ salt }: SessionKeys, ssrc: number, index: number): Buffer {
  NONCE.writeUInt16BE(0)
  NONCE.writeUInt32BE(ssrc, 2)
  NONCE.writeUInt16BE(0, 6)
  NONCE.writeUInt32BE(index, 8)
  return mix(NONCE, salt)
}

/**
 * RFC 3711 section 4.1.1: `salt * 2^16 XOR SSRC * 2^64 XOR index * 2^16`, with the 48-bit index in two parts. Valid until
 * the next call.
 */
export function counterIv({ salt }: SessionKeys, ssrc: number, indexHigh: number, indexLow: number): Buffer {
  COUNTER.fill(0)
  COUNTER.writeUInt32BE(ssrc, 4)
  COUNTER.writeUInt32BE(indexHigh, 8)
  COUNTER.writeUInt16BE(indexLow, 12)
  return mix(COUNTER, salt)
}

/** A cipher copies its nonce when it is made, so one piece of memory serves them all. */
const NONCE = Buffer.alloc(12)
const COUNTER = Buffer.alloc(16)

function mix(nonce: Buffer, salt: Buffer): Buffer {
  for (let at = 0; at < salt.length; at++) nonce[at] = (nonce[at] ?? 0) ^ (salt[at] ?? 0)
  return nonce
}
