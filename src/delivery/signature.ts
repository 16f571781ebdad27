import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { hmac, hmacKey } from '../base/crypto.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { Mismatch } from '../core/webhooks/types.ts'

/** Names of the headers of a callback, so that Sluice can serve a receiver that was written for another service. */
export interface HeaderProfile {
  readonly signature: string
  /** The other four are for thumbnails, whose body is an image. */
  readonly timestamp: string
  readonly feedId: string
  readonly streamId: string
  readonly tokenId: string
  /** For channel webhooks. */
  readonly streamingSignature: string
}

/** All names from one prefix, such as `X-Service-`. */
export function headerProfile(prefix = 'X-Service-'): HeaderProfile {
  return {
    signature: `${prefix}Signature`,
    timestamp: `${prefix}Timestamp`,
    feedId: `${prefix}Feed-Id`,
    streamId: `${prefix}Stream-Id`,
    tokenId: `${prefix}Token-Id`,
    streamingSignature: `${prefix}Streaming-Signature`.toLowerCase(),
  }
}

/** The HMAC key: the bytes of the webhook's secret, which is base64. */
export const webhookKeyOf = (secret: string): KeyObject => hmacKey(Buffer.from(secret, 'base64'))

/** `sha1=` and the lower-case hexadecimal HMAC-SHA1 of the body as sent. */
export function signBody(body: Uint8Array, key: KeyObject): string {
  return `sha1=${hmac('sha1', key, body).toString('hex')}`
}

/** `v1,` and the base64 HMAC-SHA256 over `id.seconds.body` (Standard Webhooks 1.0.0, signature scheme). */
function signStandard(id: string, seconds: number, body: Uint8Array, key: KeyObject): string {
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body)
  return `v1,${mac.digest('base64')}`
}

export interface Signing {
  readonly profile: HeaderProfile
  /** base64, as in the webhook's record. */
  readonly secret: string
  /** Id of the event. A redelivery has the same id, so that a receiver can recognize it. */
  readonly id: string
  /** When it is sent, epoch milliseconds. */
  readonly timestampMs: number
  readonly body: Uint8Array
}

/** The signature of the profile, plus the three headers of Standard Webhooks. */
export function signatureHeaders({ profile, secret, id, timestampMs, body }: Signing): Record<string, string> {
  const key = webhookKeyOf(secret)
  return { [profile.signature]: signBody(body, key), ...standardHeaders(id, timestampMs, body, key) }
}

/**
 * The signature of channel webhooks: `t=<seconds>,h=<hex>`, HMAC-SHA256 over `<t>.<body>`, keyed with the secret as
 * displayed; plus the three headers of Standard Webhooks.
 */
export function channelSignatureHeaders({ profile, secret, id, timestampMs, body }: Signing): Record<string, string> {
  const seconds = Math.floor(timestampMs / 1000)
  const hash = createHmac('sha256', hmacKey(secret)).update(`${seconds}.`).update(body).digest('hex')
  const standard = standardHeaders(id, timestampMs, body, webhookKeyOf(secret))
  return { [profile.streamingSignature]: `t=${seconds},h=${hash}`, ...standard }
}

function standardHeaders(id: string, timestampMs: number, body: Uint8Array, key: KeyObject): Record<string, string> {
  const seconds = Math.floor(timestampMs / 1000)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signStandard(id, seconds, body, key),
  }
}

/** The headers of a thumbnail: whose image it is. A header holds no other text than Latin-1, so the stream is percent-encoded. */
export function thumbnailHeaders(
  profile: HeaderProfile,
  image: { timestampMs: number; feedId: string; streamId: string; tokenId: number },
): Record<string, string> {
  return {
    [profile.timestamp]: String(image.timestampMs),
    [profile.feedId]: image.feedId,
    [profile.streamId]: encodeURI(image.streamId),
    [profile.tokenId]: String(image.tokenId),
  }
}

/** Headers as Node gives them to a server: lower-case names; a repeated one may be an array. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface Verification {
  readonly body: Uint8Array
  readonly headers: ReceivedHeaders
  readonly secret: string
  readonly profile?: HeaderProfile
  readonly nowMs: number
}

/** How far the clocks may differ, as Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 300

/**
 * For receivers: whether this body was signed with this secret. The Standard Webhooks headers are checked first,
 * because they cover the id and the time. Without them the profile's header decides. Comparisons take constant time.
 */
export function verifySignature(given: Verification): Result<{ id: string | null }, Mismatch> {
  const key = webhookKeyOf(given.secret)
  const id = headerOf(given.headers, 'webhook-id')
  const stamp = headerOf(given.headers, 'webhook-timestamp')
  const signatures = headerOf(given.headers, 'webhook-signature')
  if (id !== null && stamp !== null && signatures !== null) return verifyStandard(given, key, { id, stamp, signatures })
  const signature = headerOf(given.headers, (given.profile ?? headerProfile()).signature)
  if (signature === null) return err('missing_signature')
  return sameText(signature, signBody(given.body, key)) ? ok({ id: null }) : err('wrong_signature')
}

function verifyStandard(
  given: Verification,
  key: KeyObject,
  sent: { id: string; stamp: string; signatures: string },
): Result<{ id: string }, Mismatch> {
  if (!/^\d{1,12}$/.test(sent.stamp)) return err('wrong_signature')
  const seconds = Number(sent.stamp)
  const expected = signStandard(sent.id, seconds, given.body, key)
  // Several signatures, separated by spaces, mean that the sender is rotating its secret.
  if (!sent.signatures.split(' ').some((one) => sameText(one, expected))) return err('wrong_signature')
  const ageSeconds = given.nowMs / 1000 - seconds
  if (ageSeconds > TOLERANCE_SECONDS) return err('too_old')
  return ageSeconds < -TOLERANCE_SECONDS ? err('too_new') : ok({ id: sent.id })
}

function headerOf(headers: ReceivedHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return (typeof value === 'string' ? value : value?.[0]) ?? null
}

function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
