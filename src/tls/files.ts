import { isoDay } from '../base/time.ts'
import { open, stat } from 'node:fs/promises'
import { fileProblem, hasCode } from '../base/errorCode.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { repeat, type Repetition } from '../base/repeat.ts'
import { err, ok, type Result } from '../base/result.ts'
import { coded, type CodedSentence, type Said, say } from '../core/notices.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import type { ServedCertificate } from './served.ts'

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Far above any chain. */
const MAX_BYTES = 1024 * 1024
const LOOK_MS = 500
/** Reads again even if nothing seems to have changed: some file systems have coarse times. */
const READ_MS = 60_000

/** Reads both files. The error is for the operator. */
export async function readFiles({ certFile, keyFile }: CertificateFiles): Promise<Result<Certificate, Said>> {
  const cert = await readText('tls.certFile', certFile)
  if (!cert.ok) return cert
  const key = await readText('tls.keyFile', keyFile)
  if (!key.ok) return key
  const pair = readCertificate({ cert: cert.value, key: key.value })
  return pair.ok ? pair : err(say(coded('certificate_pair', { cert: certFile, key: keyFile }), pair.error))
}

async function readText(key: string, path: string): Promise<Result<string, Said>> {
  try {
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1))
      if (bytesRead > MAX_BYTES) return err(say(coded('certificate_file_large', { key, path })))
      return ok(buffer.toString('utf8', 0, bytesRead))
    } finally {
      await file.close()
    }
  } catch (error) {
    return err(say(unreadable(error, key, path)))
  }
}

function unreadable(error: unknown, key: string, path: string): CodedSentence {
  if (hasCode(error, 'ENOENT')) return coded('certificate_file_missing', { key, path })
  if (hasCode(error, 'EACCES', 'EPERM')) return coded('certificate_file_forbidden', { key, path })
  return coded('text', { text: `${key}: ${path} ${fileProblem(error)}` })
}

/**
 * Reads the files again when they change: when one is replaced, also through a symbolic link in its path, as certbot and
 * Kubernetes do. It asks for their state instead of watching folders, which network file systems do not support. A
 * program may write the two files one after the other, so Sluice waits until both stay the same for one look.
 * @param files may name others at each look
 */
export function followFiles(
  files: CertificateFiles,
  served: ServedCertificate,
  { clock, log }: { clock: Clock; log: Logger },
): Repetition {
  let read = ''
  let before = ''
  let readAtMs = -Infinity
  return repeat({ clock, log, name: 'follow the certificate files', everyMs: LOOK_MS }, async () => {
    const now = `${await stateOf(files.certFile)} ${await stateOf(files.keyFile)}`
    const isDue = clock.monotonic() - readAtMs >= READ_MS || (now !== read && now === before)
    before = now
    if (!isDue) return
    read = now
    readAtMs = clock.monotonic()
    const found = unlessExpired(await readFiles(files), served, clock.now())
    if (found.ok) served.replace(found.value)
    else served.keep(found.error)
  })
}

/** An expired certificate does not replace one that is valid. */
export function unlessExpired(
  found: Result<Certificate, Said>,
  { current }: ServedCertificate,
  nowMs: number,
): Result<Certificate, Said> {
  const hasExpired = found.ok && found.value.expiresMs <= nowMs && current.expiresMs > nowMs
  return hasExpired ? err(say(coded('certificate_new_expired', { date: isoDay(found.value.expiresMs) }))) : found
}

async function stateOf(path: string): Promise<string> {
  return stat(path).then(
    ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
    (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
  )
}
