import { type Static, Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../validation/problems.ts'
import { parseBody } from '../validation/parseBody.ts'

const closed = { additionalProperties: false } as const

const response = (of: string) => Type.Unknown({ description: `What \`${of}\` gave, as \`toJSON()\` writes it.` })

export const AddPasskey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64, description: 'For you.', examples: ['Phone'] }),
    response: response('navigator.credentials.create'),
  },
  closed,
)

export const PasskeySignIn = Type.Object({ response: response('navigator.credentials.get') }, closed)

export const readAddPasskey = (body: unknown): Result<Static<typeof AddPasskey>, FieldErrors> =>
  parseBody(AddPasskey, body)

export const readPasskeySignIn = (body: unknown): Result<Static<typeof PasskeySignIn>, FieldErrors> =>
  parseBody(PasskeySignIn, body)
