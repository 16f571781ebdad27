import { createPrivateKey } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { checkTls } from '../../src/cli/doctorTls.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { issueAuthority } from '../../src/tls/issue.ts'
import { lasting, leafOf, writePair } from '../support/certificates.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-tls-'))
afterAll(() => rmSync(dir, { recursive: true }))

async function findings(flags: PartialConfig, nowMs = Date.now()): Promise<string[]> {
  const config = loadConfig({ env: {}, flags })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  return (await checkTls(config.value, nowMs)).map(({ outcome, detail }) => `${outcome} ${detail}`)
}

test('the doctor judges certificate files: days left, names, and who can read the key', async () => {
  const authority = await issueAuthority('Test', lasting(10), systemRandom)
  const tls = writePair(dir, await leafOf(authority, 60))
  expect(await findings({ tls })).toEqual([expect.stringMatching(/^ok the certificate expires in (59|60) days/)])
  const day = 86_400_000
  expect(await findings({ tls }, Date.now() + 55 * day)).toEqual([expect.stringMatching(/^warn .*: renew it$/)])
  expect(await findings({ tls }, Date.now() + 61 * day)).toEqual([expect.stringMatching(/^FAIL .* has expired/)])
  expect(await findings({ tls, server: { publicUrl: 'https://other.example.com' } })).toEqual([
    expect.stringMatching(/^FAIL the certificate is for localhost.*other\.example\.com$/),
  ])
  chmodSync(tls.keyFile, 0o644)
  expect(await findings({ tls })).toContainEqual(expect.stringMatching(/^warn .*chmod 600/))
  rmSync(tls.keyFile)
  expect(await findings({ tls })).toEqual([`FAIL tls.keyFile: ${tls.keyFile} does not exist`])
})

test('the doctor says that a key has a passphrase, which Sluice cannot ask for', async () => {
  const authority = await issueAuthority('Test', lasting(10), systemRandom)
  const { cert, key } = await leafOf(authority)
  const lock = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  for (const type of ['pkcs8', 'sec1'] as const) {
    const tls = writePair(dir, { cert, key: String(createPrivateKey(key).export({ type, ...lock })) })
    expect(await findings({ tls })).toEqual([
      expect.stringMatching(/^FAIL .* they have a key with a passphrase: write the key without one$/),
    ])
  }
})

test('the doctor names keys that do not fit together, and what devices need for our own authority', async () => {
  expect(await findings({ tls: { certFile: 'a' } })).toEqual([expect.stringContaining('FAIL tls.certFile')])
  expect(await findings({ tls: { selfSigned: true } })).toEqual([expect.stringContaining('/ca.pem')])
  expect(await findings({})).toEqual([])
})

test('the doctor says that an authority for ACME cannot be read, before a renewal needs it', async () => {
  const acme = { domains: ['example.com'], agreeToTerms: true, caFile: join(dir, 'none.pem') }
  const all = { acme, redirectPort: 80 }
  expect(await findings({ tls: all })).toEqual([`FAIL tls.acme.caFile: ${acme.caFile} does not exist`])
  expect(await findings({ tls: { ...all, acme: { ...acme, caFile: '' } } })).toEqual([])
})
