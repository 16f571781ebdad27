import { isObject } from '../base/objects.ts'

// What a server tells `sluice doctor` about a request that came through a proxy.

/** The header of such a request: the time and codes that only holders of the sealing key can compute. */
export const DOCTOR_HEADER = 'sluice-doctor'

/** `sluice doctor` claims this address in `X-Forwarded-For`. It is for documentation (RFC 5737), so no client has it. */
export const CLAIMED_ADDRESS = '192.0.2.1'

export interface HealthReport {
  /** Who connected to the server: the doctor, or the last proxy. */
  readonly from: string
  /** Whether `server.trustedProxies` lists that address. */
  readonly isTrustedProxy: boolean
  /** `X-Forwarded-For` as it arrived; null: without one. */
  readonly forwardedFor: string | null
  /** The address that counts as the client's. */
  readonly client: string
}

/** Reads a report; null: the text is none, so another program has answered, or another installation. */
export function readHealthReport(text: string): HealthReport | null {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return null
  }
  if (!isObject(read)) return null
  const { from, isTrustedProxy, forwardedFor, client } = read
  if (typeof from !== 'string' || typeof isTrustedProxy !== 'boolean' || typeof client !== 'string') return null
  if (forwardedFor !== null && typeof forwardedFor !== 'string') return null
  return { from, isTrustedProxy, forwardedFor, client }
}
