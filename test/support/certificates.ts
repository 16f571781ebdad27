import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type ConnectionOptions, getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { once } from 'node:events'
import { systemRandom } from '../../src/base/random.ts'
import type { PemPair } from '../../src/tls/certificate.ts'
import { issueAuthority, issueLeaf } from '../../src/tls/issue.ts'

const DAY_MS = 86_400_000

export const lasting = (days: number) => ({ beginsMs: Date.now() - DAY_MS, expiresMs: Date.now() + days * DAY_MS })

/** An authority that `fetch` of this process trusts from now on. */
export async function trustedAuthority(): Promise<PemPair> {
  const authority = await issueAuthority('Test', lasting(10), systemRandom)
  setDefaultCACertificates([...getCACertificates('default'), authority.cert])
  return authority
}

/** A certificate of this machine. */
export const leafOf = (authority: PemPair, days = 5): Promise<PemPair> =>
  issueLeaf(authority, ['localhost', '127.0.0.1', '::1'], lasting(days), systemRandom)

export const certificateFiles = (dir: string) => ({ certFile: join(dir, 'cert.pem'), keyFile: join(dir, 'key.pem') })

/** Writes both files as programs should: each at once. */
export function writePair(dir: string, { cert, key }: PemPair): ReturnType<typeof certificateFiles> {
  const files = certificateFiles(dir)
  for (const [path, text] of [
    [files.certFile, cert],
    [files.keyFile, key],
  ] as const) {
    writeFileSync(`${path}.new`, text, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  return files
}

/** A connection after its handshake. */
export async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  return socket
}

/** The serial number of the certificate that a new connection gets. */
export async function serialAt(port: number): Promise<string> {
  const socket = await shakeHands(port)
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}
