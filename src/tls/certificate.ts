import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { err, ok, type Result } from '../base/result.ts'
import { coded, type CodedSentence } from '../core/notices.ts'

/** A certificate with its chain, and its private key. */
export interface PemPair {
  readonly cert: string
  readonly key: string
}

/** A pair that belongs together, ready for handshakes. */
export interface Certificate extends PemPair {
  readonly context: SecureContext
  readonly serial: string
  /** Domain names and addresses. */
  readonly names: readonly string[]
  readonly beginsMs: number
  readonly expiresMs: number
}

/** Older versions have known weaknesses, and no browser of the last years needs them (RFC 8996). */
const MIN_VERSION = 'TLSv1.2'

/** Checks that key and certificate belong together. The error follows the name of the pair. */
export function readCertificate({ cert, key }: PemPair): Result<Certificate, CodedSentence> {
  try {
    const leaf = new X509Certificate(cert)
    return ok({
      cert,
      key,
      context: createSecureContext({ cert, key, minVersion: MIN_VERSION }),
      serial: leaf.serialNumber,
      names: namesOf(leaf),
      beginsMs: leaf.validFromDate.getTime(),
      expiresMs: leaf.validToDate.getTime(),
    })
  } catch (error) {
    return err(explain(error as NodeJS.ErrnoException))
  }
}

/** Names cannot contain commas. */
const namesOf = ({ subjectAltName = '' }: X509Certificate): string[] =>
  subjectAltName.split(', ').flatMap((name) => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? [])

/** OpenSSL's words say little to an operator. The message never contains a part of the key. */
function explain({ code = '', message }: NodeJS.ErrnoException): CodedSentence {
  if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') return coded('certificate_pair_differs')
  if (/BAD_DECRYPT|BAD_PASSWORD|NEED_PASSWORD|INTERRUPTED_OR_CANCELLED/.test(code))
    return coded('certificate_pair_passphrase')
  if (/NO_START_LINE|BAD_END_LINE|UNSUPPORTED|WRONG_TAG|BAD_BASE64|DECODE/.test(code))
    return coded('certificate_pair_no_pem')
  return coded('certificate_pair_unusable', { text: code || message })
}
