import { ownAddresses, type ServerAddresses } from '../../addresses.ts'
import { session } from '../../session.ts'

/** The public addresses of this server, and the account whose streams they carry. */
export function useServer(): ServerAddresses & { readonly accountId: string } {
  const { value } = session
  const accountId = value.kind === 'signedIn' ? value.session.account.id : ''
  return { ...ownAddresses(), accountId }
}
