import { err, ok, type Result } from '../base/result.ts'
import type { Config } from './schema.ts'

/** Where the certificate comes from. */
export type TlsSource = 'files' | 'self-signed' | 'acme'

/** Null: Sluice speaks no TLS. The error is a sentence about keys that do not fit together. */
export function tlsSource({ tls: keys, rtmp }: Config): Result<TlsSource | null, string> {
  if ((keys.certFile === '') !== (keys.keyFile === ''))
    return err('tls.certFile and tls.keyFile belong together: set both or neither')
  const chosen: TlsSource[] = []
  if (keys.certFile !== '') chosen.push('files')
  if (keys.selfSigned) chosen.push('self-signed')
  if (keys.acme.domains.length > 0) chosen.push('acme')
  const [source = null] = chosen
  if (chosen.length > 1) return err('choose one of tls.certFile, tls.selfSigned and tls.acme.domains')
  if (source === null && keys.redirectPort !== 0) return err('tls.redirectPort needs a certificate: set tls.certFile')
  if (source === null && rtmp.tlsPort !== 0) return err('rtmp.tlsPort needs a certificate: set tls.certFile')
  return source === 'acme' ? acmeSource(keys) : ok(source)
}

function acmeSource({ acme, redirectPort }: Config['tls']): Result<TlsSource, string> {
  if (!acme.agreeToTerms)
    return err('tls.acme.agreeToTerms must be true: read the terms of service of the certificate authority first')
  if (redirectPort === 0)
    return err('tls.acme.domains needs tls.redirectPort: 80, where the certificate authority checks the domains')
  return ok('acme')
}

/** Whether `server.port` speaks HTTPS, if the keys fit together. */
export const speaksTls = ({ tls: { certFile, selfSigned, acme } }: Pick<Config, 'tls'>): boolean =>
  certFile !== '' || selfSigned || acme.domains.length > 0
