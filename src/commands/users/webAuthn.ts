import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { err, ok, type Result } from '../../base/result.ts'
import type { Passkey } from '../../store/store.ts'

// What Sluice uses of the WebAuthn library. It is loaded with the first use, because most servers need it rarely.

/** Where the pages of the dashboard are, as the browser sees it. */
export interface Site {
  /** The host name, to which a passkey is bound. */
  readonly rpId: string
  readonly origins: readonly string[]
}

/** Why a passkey with certificates is refused. */
export const ATTESTED = 'it sends certificates, which Sluice did not ask for'

type IsOurs = (challenge: string) => boolean

/** ES256, EdDSA and RS256, by their COSE numbers: what browsers and keys have. */
const ALGORITHMS = [-7, -8, -257]

const library = () => import('@simplewebauthn/server')

export async function creationOptions(
  { rpId }: Site,
  user: { id: number; accountId: string; email: string },
  known: readonly Passkey[],
  challenge: Uint8Array<ArrayBuffer>,
): Promise<object> {
  const { generateRegistrationOptions } = await library()
  return generateRegistrationOptions({
    rpName: 'Sluice',
    rpID: rpId,
    userName: user.email,
    userID: new TextEncoder().encode(`${user.accountId}:${user.id}`),
    challenge,
    attestationType: 'none',
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
    // The passkey stands for the password and is found without an address.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
}

export async function requestOptions({ rpId }: Site, challenge: Uint8Array<ArrayBuffer>): Promise<object> {
  const { generateAuthenticationOptions } = await library()
  return generateAuthenticationOptions({ rpID: rpId, challenge, userVerification: 'required' })
}

type Created = Pick<Passkey, 'id' | 'publicKey' | 'signCount' | 'transports'> & { readonly challenge: string }

/** The passkey in an answer of `navigator.credentials.create`, or why it is none. */
export async function readCreated(response: unknown, site: Site, isOurs: IsOurs): Promise<Result<Created, string>> {
  try {
    const answer = response as RegistrationResponseJSON
    if (await namesCertificates(answer)) return err(ATTESTED)
    const { verifyRegistrationResponse } = await library()
    let challenge = ''
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: answer,
      expectedChallenge: (text) => isOurs((challenge = text)),
      expectedOrigin: [...site.origins],
      expectedRPID: site.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (!verified) return err('its signature is wrong')
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential
    if (!isId(id)) return err('its id is too long')
    return ok({ id, publicKey, signCount: counter, transports: transports.slice(0, 8), challenge })
  } catch (error) {
    return err((error as Error).message)
  }
}

/** The library would fetch the revocation lists that certificates name: any address that a client writes there. */
async function namesCertificates({ response }: RegistrationResponseJSON): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(Uint8Array.from(Buffer.from(response.attestationObject, 'base64url')))
  const isPlain = attestation.get('fmt') === 'none' || attestation.get('fmt') === 'packed'
  return !isPlain || attestation.get('attStmt').get('x5c') !== undefined
}

/** Ids stand in paths. Authenticators use 16 to 64 bytes; the standard allows 1,023. */
const isId = (text: string): boolean => /^[\w-]{1,500}$/.test(text)

/** The id of the passkey in an answer of `navigator.credentials.get`; null: it has none. */
export function idOf(response: unknown): string | null {
  const id: unknown = typeof response === 'object' && response !== null && 'id' in response ? response.id : null
  return typeof id === 'string' && isId(id) ? id : null
}

interface Used {
  readonly signCount: number
  readonly challenge: string
}

/** The new counter in an answer of `navigator.credentials.get` that this passkey has signed, or why it is none. */
export async function readUsed(
  response: unknown,
  passkey: Passkey,
  site: Site,
  isOurs: IsOurs,
): Promise<Result<Used, string>> {
  try {
    const { verifyAuthenticationResponse } = await library()
    let challenge = ''
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: (text) => isOurs((challenge = text)),
      expectedOrigin: [...site.origins],
      expectedRPID: passkey.rpId,
      credential: { id: passkey.id, publicKey: Uint8Array.from(passkey.publicKey), counter: passkey.signCount },
      requireUserVerification: true,
    })
    return verified ? ok({ signCount: authenticationInfo.newCounter, challenge }) : err('its signature is wrong')
  } catch (error) {
    return err((error as Error).message)
  }
}
