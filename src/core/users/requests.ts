import { type Static, type TObject, Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { readShape } from '../validation/bodyReader.ts'
import { type FieldErrors, Problems } from '../validation/problems.ts'
import { PASSWORD_MAX } from './rules.ts'

const closed = { additionalProperties: false } as const

const email = () => Type.String({ minLength: 1, maxLength: 254, examples: ['ann@example.com'] })
const password = () => Type.String({ minLength: 1, maxLength: PASSWORD_MAX, format: 'password' })

export const SignIn = Type.Object({ email: email(), password: password() }, { ...closed, description: 'Who signs in.' })

/** The body of a request, or every wrong field of it. */
function read<S extends TObject>(schema: S, body: unknown): Result<Static<S>, FieldErrors> {
  const problems = new Problems()
  readShape(schema, body, problems)
  return problems.settle(body as Static<S>)
}

export const readSignIn = (body: unknown): Result<Static<typeof SignIn>, FieldErrors> => read(SignIn, body)
