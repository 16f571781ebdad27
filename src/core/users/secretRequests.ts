import { type Static, Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { parseBody } from '../validation/parseBody.ts'
import { closed } from '../validation/closed.ts'

const name = () => Type.String({ minLength: 1, maxLength: 128, description: 'For people.' })

export const CreateSecret = Type.Object({ name: name() }, closed)

export const CreateCredential = Type.Object(
  { name: name(), scope: Type.Enum(['write', 'read'], { description: '`read` changes nothing and reads no secret.' }) },
  closed,
)

export const readCreateSecret = (body: unknown): Result<Static<typeof CreateSecret>, FieldErrors> =>
  parseBody(CreateSecret, body)

export const readCreateCredential = (body: unknown): Result<Static<typeof CreateCredential>, FieldErrors> =>
  parseBody(CreateCredential, body)
