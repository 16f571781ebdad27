import { session } from '../../session.ts'
import type { ServerAddresses } from './addresses.ts'

const RTMP_PORT = 1935

/** The public addresses of this server, and the account whose streams they carry. */
export function useServer(): ServerAddresses & { readonly accountId: string } {
  const { value } = session
  const accountId = value.kind === 'signedIn' || value.kind === 'expired' ? value.session.accountId : ''
  const base = new URL('..', document.baseURI)
  return { http: base.href.replace(/\/$/, ''), rtmp: `rtmp://${base.hostname}:${RTMP_PORT}`, accountId }
}
