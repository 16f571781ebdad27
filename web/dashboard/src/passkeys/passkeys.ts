import { addPasskey, signInWithPasskey, startPasskey, startPasskeySignIn } from '#api/dashboard.ts'
import { ApiError, call } from '../api/call.ts'
import { openSession } from '../session.ts'
import { words } from '../words/words.ts'
import { answerOf, creationOptionsOf, requestOptionsOf } from './json.ts'
import { obstacleIn } from './obstacle.ts'

const text = words.passkeys

/** Why this page cannot use passkeys, as a sentence; null: it can. */
export function obstacleText(): string | null {
  const obstacle = obstacleIn(window)
  return obstacle && text.obstacles[obstacle]
}

/** What older browsers lack. */
type Browser = Partial<Pick<typeof PublicKeyCredential, 'parseCreationOptionsFromJSON' | 'parseRequestOptionsFromJSON'>>

/**
 * Makes a passkey in the browser and adds it to the signed-in user, who confirms it with the password, or with a passkey
 * where that is empty. @throws ApiError
 */
export async function makePasskey(name: string, password: string): Promise<void> {
  const body = password === '' ? { response: await signChallenge() } : { password }
  const json = (await call(startPasskey, { body })) as unknown as PublicKeyCredentialCreationOptionsJSON
  const publicKey = (PublicKeyCredential as Browser).parseCreationOptionsFromJSON?.(json) ?? creationOptionsOf(json)
  const response = await ask(() => navigator.credentials.create({ publicKey }))
  await call(addPasskey, { body: { name, response } })
}

/** Signs in with a passkey that the user chooses in the browser. @throws ApiError */
export async function signInByPasskey(): Promise<void> {
  const response = await signChallenge()
  await call(signInWithPasskey, { body: { response } }, { signsIn: true })
  await openSession()
}

/** What a passkey that the user chooses answers to a challenge of the server. */
async function signChallenge(): Promise<object> {
  const json = (await call(
    startPasskeySignIn,
    {},
    { signsIn: true },
  )) as unknown as PublicKeyCredentialRequestOptionsJSON
  const publicKey = (PublicKeyCredential as Browser).parseRequestOptionsFromJSON?.(json) ?? requestOptionsOf(json)
  return ask(() => navigator.credentials.get({ publicKey }))
}

/** The browser's answer as JSON. Its refusals become sentences. */
async function ask(request: () => Promise<Credential | null>): Promise<object> {
  const credential = await request().catch((error: unknown) => {
    throw new ApiError(0, refusalText(error))
  })
  if (credential === null) throw new ApiError(0, text.refusals.NotAllowedError)
  const key = credential as Omit<PublicKeyCredential, 'toJSON'> & Partial<Pick<PublicKeyCredential, 'toJSON'>>
  return (key.toJSON?.() as object | undefined) ?? answerOf(key as PublicKeyCredential)
}

function refusalText(error: unknown): string {
  const name = error instanceof DOMException ? error.name : ''
  return text.refusals[name as keyof typeof text.refusals] ?? text.failed(name || String(error))
}
