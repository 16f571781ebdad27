import { existsSync } from 'node:fs'
import type { HealthAnswer } from '../cli/host.ts'
import { authorityFile } from '../config/places.ts'
import type { Config } from '../config/schema.ts'
import { tlsSource } from '../config/tlsSource.ts'
import { createEgress } from '../net/egress.ts'

/** Requests a URL of the configured server as its clients would, who trust its own authority if it has one. */
export async function askHealth(config: Config, url: string): Promise<HealthAnswer> {
  const source = tlsSource(config)
  const authority = authorityFile(config)
  const isOurs = source.ok && source.value === 'self-signed' && existsSync(authority)
  const egress = createEgress({
    allowPrivateTargets: true,
    ...(isOurs ? { caFile: authority } : {}),
    totalTimeoutMs: 8_000,
    maxAnswerBytes: 64,
  })
  try {
    return await egress.send({ url, method: 'GET', headers: {}, body: new Uint8Array() })
  } finally {
    await egress.close()
  }
}
