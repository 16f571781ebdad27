import { type Static, Type } from 'typebox'
import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { parseBody } from '../validation/parseBody.ts'
import { plainTextProblem } from '../validation/text.ts'
import { PASSWORD_MAX } from './rules.ts'
import { closed } from '../validation/closed.ts'

const response = (of: string) => Type.Unknown({ description: `What \`${of}\` gave, as \`toJSON()\` writes it.` })

/** What confirms that the user is at the browser: the password, or one of the user's passkeys. */
export const StartPasskey = Type.Object(
  {
    password: Type.Optional(Type.String({ minLength: 1, maxLength: PASSWORD_MAX, format: 'password' })),
    response: Type.Optional(response('navigator.credentials.get` for the options of `startPasskeySignIn')),
  },
  closed,
)

/** Either the one or the other. */
export type Confirmation = { readonly password: string } | { readonly response: unknown }

export const AddPasskey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64, description: 'For you.', examples: ['Phone'] }),
    response: response('navigator.credentials.create'),
  },
  closed,
)

export const PasskeySignIn = Type.Object({ response: response('navigator.credentials.get') }, closed)

export function readStartPasskey(body: unknown): Result<Confirmation, FieldErrors> {
  const read = parseBody(StartPasskey, body)
  if (!read.ok) return read
  const { password, response: signed } = read.value
  if ((password === undefined) === (signed === undefined)) return err({ password: ['is needed, or a passkey instead'] })
  return ok(password === undefined ? { response: signed } : { password })
}

export function readAddPasskey(body: unknown): Result<Static<typeof AddPasskey>, FieldErrors> {
  const read = parseBody(AddPasskey, body)
  const problem = read.ok ? plainTextProblem(read.value.name) : null
  return problem === null ? read : err({ name: [problem] })
}

export const readPasskeySignIn = (body: unknown): Result<Static<typeof PasskeySignIn>, FieldErrors> =>
  parseBody(PasskeySignIn, body)
