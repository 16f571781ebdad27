import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { hmacKey } from '../../../base/crypto.ts'
import { addressBytes } from './address.ts'

/**
 * STUN as ICE uses it (RFC 8489, RFC 8445): binding requests and responses. Our agents answer checks, and send their own to
 * verify addresses.
 */

const MAGIC_COOKIE = 0x2112a442
const HEADER = 20
/** Longer than any connectivity check. */
const MAX_MESSAGE = 1500
const FINGERPRINT_XOR = 0x5354554e

const BINDING_REQUEST = 0x0001
const BINDING_SUCCESS = 0x0101
const BINDING_ERROR = 0x0111

const USERNAME = 0x0006
const MESSAGE_INTEGRITY = 0x0008
const ERROR_CODE = 0x0009
const XOR_MAPPED_ADDRESS = 0x0020
const PRIORITY = 0x0024
const USE_CANDIDATE = 0x0025
const FINGERPRINT = 0x8028
const ICE_CONTROLLED = 0x8029
const ICE_CONTROLLING = 0x802a

/** A lite agent never controls, so the peer wins each tie (RFC 8445 section 7.3.1.1). Some agents take 0 for none. */
const LEAST_TIE_BREAKER = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1])

const INTEGRITY_LENGTH = 4 + 20
const FINGERPRINT_LENGTH = 4 + 4

/** A well-formed connectivity check. `isAuthentic` tells whether its sender knows the password. */
export interface BindingRequest {
  /** The whole message; a view of what was given, valid as long as that is. */
  readonly message: Buffer
  /** 12 bytes, a view. */
  readonly transactionId: Buffer
  /** First half of USERNAME: our own fragment (RFC 8445 section 7.2.2). */
  readonly localUfrag: string
  /** Second half: the sender's. */
  readonly remoteUfrag: string
  /** Null when absent. */
  readonly priority: number | null
  /** The controlling agent nominates this pair. */
  readonly useCandidate: boolean
  /** The sender claims the controlled role, which is ours: answer with 487 (RFC 8445 section 7.3.1.1). */
  readonly controlled: boolean
  /** Where the MESSAGE-INTEGRITY attribute begins. */
  readonly integrityAt: number
}

/** A well-formed success response. `isAuthentic` tells whether its sender knows the password. */
export interface BindingSuccess {
  readonly message: Buffer
  /** 12 bytes, a view. */
  readonly transactionId: Buffer
  readonly integrityAt: number
}

/** Whether a datagram or frame may be STUN (RFC 7983: first byte 0 to 3). */
export const looksLikeStun = (message: Buffer): boolean =>
  message.length >= HEADER && (message[0] ?? 255) < 4 && message.readUInt32BE(4) === MAGIC_COOKIE

/**
 * Null for everything but a binding request with USERNAME, MESSAGE-INTEGRITY and a right FINGERPRINT, which a check
 * must have (RFC 8445 section 7.1).
 */
export function parseBindingRequest(message: Buffer): BindingRequest | null {
  const found = isMessage(message, BINDING_REQUEST) ? readAttributes(message) : null
  if (found === null || found.username === null || found.integrityAt === null || !found.hasFingerprint) return null
  const colon = found.username.indexOf(':')
  if (colon < 1) return null
  const { priority, useCandidate, controlled, integrityAt } = found
  return {
    message,
    transactionId: message.subarray(8, HEADER),
    localUfrag: found.username.slice(0, colon),
    remoteUfrag: found.username.slice(colon + 1),
    priority,
    useCandidate,
    controlled,
    integrityAt,
  }
}

/** Null for everything but a success response with MESSAGE-INTEGRITY. A FINGERPRINT must be right if present. */
export function parseBindingSuccess(message: Buffer): BindingSuccess | null {
  const integrityAt = isMessage(message, BINDING_SUCCESS) ? readAttributes(message)?.integrityAt : null
  if (integrityAt === null || integrityAt === undefined) return null
  return { message, transactionId: message.subarray(8, HEADER), integrityAt }
}

const isMessage = (message: Buffer, type: number): boolean =>
  looksLikeStun(message) &&
  message.length <= MAX_MESSAGE &&
  message.length % 4 === 0 &&
  message.readUInt16BE(0) === type &&
  message.readUInt16BE(2) === message.length - HEADER

interface Attributes {
  username: string | null
  priority: number | null
  useCandidate: boolean
  controlled: boolean
  integrityAt: number | null
  hasFingerprint: boolean
}

/** Null when an attribute leads out of the message or has a wrong length. What is not known is passed over. */
function readAttributes(message: Buffer): Attributes | null {
  const found: Attributes = {
    username: null,
    priority: null,
    useCandidate: false,
    controlled: false,
    integrityAt: null,
    hasFingerprint: false,
  }
  let at = HEADER
  while (at + 4 <= message.length) {
    const length = message.readUInt16BE(at + 2)
    const next = at + 4 + ((length + 3) & ~3)
    if (next > message.length || !readAttribute(message, at, length, found)) return null
    at = next
  }
  return found
}

function readAttribute(message: Buffer, at: number, length: number, found: Attributes): boolean {
  const type = message.readUInt16BE(at)
  if (type === FINGERPRINT) {
    found.hasFingerprint = length === 4 && isFingerprint(message, at)
    return found.hasFingerprint
  }
  // RFC 8489 section 14.5: what follows MESSAGE-INTEGRITY is not covered by it and is ignored.
  if (found.integrityAt !== null) return true
  if (type === MESSAGE_INTEGRITY) {
    found.integrityAt = at
    return length === INTEGRITY_LENGTH - 4
  }
  if (type === USERNAME) {
    found.username = message.toString('utf8', at + 4, at + 4 + length)
    return length <= 513
  }
  if (type === PRIORITY) {
    if (length !== 4) return false
    found.priority = message.readUInt32BE(at + 4)
  }
  if (type === USE_CANDIDATE) found.useCandidate = true
  if (type === ICE_CONTROLLED) found.controlled = true
  return true
}

/** FINGERPRINT must be the last attribute, and right (RFC 8489 section 14.7). */
const isFingerprint = (message: Buffer, at: number): boolean =>
  at + FINGERPRINT_LENGTH === message.length && message.readUInt32BE(at + 4) === fingerprint(message.subarray(0, at))

const fingerprint = (covered: Buffer): number => (crc32(covered) ^ FINGERPRINT_XOR) >>> 0

/**
 * Whether MESSAGE-INTEGRITY was made with `password` (short-term credentials, RFC 8489 section 9.1): our own ice-pwd in
 * requests, the peer's in its answers to ours.
 */
export function isAuthentic(
  { message, integrityAt }: Pick<BindingRequest, 'message' | 'integrityAt'>,
  password: string,
): boolean {
  const header = Buffer.from(message.subarray(0, HEADER))
  // The length that is signed ends with MESSAGE-INTEGRITY, whatever follows it.
  header.writeUInt16BE(integrityAt + INTEGRITY_LENGTH - HEADER, 2)
  const mac = createHmac('sha1', hmacKey(password))
    .update(header)
    .update(message.subarray(HEADER, integrityAt))
    .digest()
  return timingSafeEqual(mac, message.subarray(integrityAt + 4, integrityAt + INTEGRITY_LENGTH))
}

/**
 * The success response to a check that came from `address` (text) and `port`, signed with our own `password`. Throws if
 * `address` is not one: a socket gave it to us.
 */
export function bindingSuccess(transactionId: Buffer, address: string, port: number, password: string): Buffer {
  const ip = addressBytes(address)
  if (ip === null) throw new TypeError('not an address of a peer')
  const value = Buffer.alloc(4 + ip.length)
  value[1] = ip.length === 4 ? 1 : 2
  value.writeUInt16BE(port ^ (MAGIC_COOKIE >>> 16), 2)
  const key = Buffer.alloc(16)
  key.writeUInt32BE(MAGIC_COOKIE)
  transactionId.copy(key, 4)
  for (let i = 0; i < ip.length; i++) value[4 + i] = (ip[i] ?? 0) ^ (key[i] ?? 0)
  return signed(BINDING_SUCCESS, transactionId, [attribute(XOR_MAPPED_ADDRESS, value)], password)
}

/** An error response, for example 487 "Role Conflict". Signed, because only authentic requests are answered. */
export function bindingError(transactionId: Buffer, code: number, reason: string, password: string): Buffer {
  const text = Buffer.from(reason.slice(0, 127))
  const value = Buffer.concat([Buffer.from([0, 0, Math.floor(code / 100), code % 100]), text])
  return signed(BINDING_ERROR, transactionId, [attribute(ERROR_CODE, value)], password)
}

/** A binding request, signed with the password of its receiver. */
export function bindingRequest(request: {
  transactionId: Buffer
  username: string
  password: string
  priority?: number
  useCandidate?: boolean
  controlled?: boolean
  /** Implied by `useCandidate`, which only the controlling agent may set. */
  controlling?: boolean
}): Buffer {
  const priority = Buffer.alloc(4)
  priority.writeUInt32BE(request.priority ?? 1)
  const attributes = [attribute(USERNAME, Buffer.from(request.username)), attribute(PRIORITY, priority)]
  if (request.useCandidate === true) attributes.push(attribute(USE_CANDIDATE, Buffer.alloc(0)))
  if (request.useCandidate === true || request.controlling === true)
    attributes.push(attribute(ICE_CONTROLLING, Buffer.alloc(8, 1)))
  if (request.controlled === true) attributes.push(attribute(ICE_CONTROLLED, LEAST_TIE_BREAKER))
  return signed(BINDING_REQUEST, request.transactionId, attributes, request.password)
}

function attribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(4 + ((value.length + 3) & ~3))
  bytes.writeUInt16BE(type)
  bytes.writeUInt16BE(value.length, 2)
  value.copy(bytes, 4)
  return bytes
}

function signed(type: number, transactionId: Buffer, attributes: readonly Buffer[], password: string): Buffer {
  const covered = HEADER + attributes.reduce((sum, { length }) => sum + length, 0)
  const message = Buffer.alloc(covered + INTEGRITY_LENGTH + FINGERPRINT_LENGTH)
  message.writeUInt16BE(type)
  message.writeUInt32BE(MAGIC_COOKIE, 4)
  transactionId.copy(message, 8, 0, 12)
  Buffer.concat(attributes).copy(message, HEADER)
  message.writeUInt16BE(covered + INTEGRITY_LENGTH - HEADER, 2)
  const mac = createHmac('sha1', hmacKey(password)).update(message.subarray(0, covered)).digest()
  attribute(MESSAGE_INTEGRITY, mac).copy(message, covered)
  message.writeUInt16BE(message.length - HEADER, 2)
  const crc = Buffer.alloc(4)
  const end = covered + INTEGRITY_LENGTH
  crc.writeUInt32BE(fingerprint(message.subarray(0, end)))
  attribute(FINGERPRINT, crc).copy(message, end)
  return message
}
