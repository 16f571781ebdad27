import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import type { HealthAnswer } from '../cli/host.ts'
import { authorityFile } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import { tlsSource } from '../config/tlsSource.ts'
import { CLAIMED_ADDRESS, DOCTOR_HEADER } from '../core/health.ts'
import { signDoctorRequest } from '../edge/http/operations/doctorRequests.ts'
import { createEgress } from '../net/egress.ts'
import { answeringNames } from '../net/resolve.ts'
import { doctorKey } from './derivedKeys.ts'
import { readKeyring } from './keyring.ts'

/** For questions of the doctor. Rejects within seconds when there is none. */
export const addressesForDoctor = (name: string): Promise<string[]> => answeringNames(name, AbortSignal.timeout(2000))

/**
 * Requests a URL of the configured server as its clients would, who trust its own authority if it has one. The request
 * claims an address, as any client may, and shows the keys of the installation if this process can read them.
 */
export async function askHealth(config: Config, url: string): Promise<HealthAnswer> {
  const source = tlsSource(config)
  const authority = authorityFile(config)
  const isOurs = source.ok && source.value === 'self-signed' && existsSync(authority)
  const egress = createEgress({
    allowPrivateTargets: true,
    resolver: answeringNames,
    ...(isOurs ? { caFile: authority } : {}),
    totalTimeoutMs: 8_000,
    maxAnswerBytes: 2048,
  })
  const keys = readKeyring(config)
  const isSigned = keys.ok && keys.value.length > 0
  const signature = isSigned ? { [DOCTOR_HEADER]: signDoctorRequest(keys.value.map(doctorKey), systemClock.now()) } : {}
  const headers = { 'x-forwarded-for': CLAIMED_ADDRESS, ...signature }
  try {
    const answer = await egress.send({ url, method: 'GET', headers, body: new Uint8Array() })
    return { ...answer, isSigned }
  } finally {
    await egress.close()
  }
}
