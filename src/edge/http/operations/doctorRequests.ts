import type { KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../base/clock.ts'
import { constantTimeEqual, hmacSha256 } from '../../../base/crypto.ts'
import { DOCTOR_HEADER, type HealthReport } from '../../../core/health.ts'
import type { PeerOf } from '../peer.ts'

/** How far the clocks of two nodes may differ, and how long a request may take. */
const GOOD_FOR_MS = 5 * 60_000
/** The present one, the next one and the one before. */
const KEYS_MAX = 3
/** Of `X-Forwarded-For`: more addresses than a chain of proxies has. */
const FORWARDED_MAX = 500

/**
 * The value of the header for servers with one of these keys. During a rotation they may have any of them.
 * @param keys each derived from a sealing key, for nothing else
 */
export const signDoctorRequest = (keys: readonly KeyObject[], nowMs: number): string =>
  [String(nowMs), ...keys.map((key) => codeOf(key, String(nowMs)))].join('.')

/** Whether `sluice doctor` of this installation sent the request, some minutes ago at most. */
export function isFromDoctor(key: KeyObject, clock: Pick<Clock, 'now'>, { headers }: IncomingMessage): boolean {
  const value = headers[DOCTOR_HEADER]
  const [sentMs = '', ...codes] = typeof value === 'string' ? value.split('.') : []
  if (!(Math.abs(clock.now() - Number(sentMs)) <= GOOD_FOR_MS)) return false
  const own = codeOf(key, sentMs)
  return codes.slice(0, KEYS_MAX).some((code) => constantTimeEqual(code, own))
}

const codeOf = (key: KeyObject, sentMs: string): string => hmacSha256(key, sentMs).toString('base64url')

/** Who sent the request, as this server sees it. */
export function healthReport(
  peerOf: PeerOf,
  isProxy: (address: ReturnType<PeerOf>) => boolean,
  { socket, headers }: IncomingMessage,
): HealthReport {
  const from = peerOf(socket.remoteAddress, {})
  const forwarded = headers['x-forwarded-for']
  return {
    from: from.text,
    isTrustedProxy: isProxy(from),
    forwardedFor: forwarded === undefined ? null : String(forwarded).slice(0, FORWARDED_MAX),
    client: peerOf(socket.remoteAddress, headers).text,
  }
}
