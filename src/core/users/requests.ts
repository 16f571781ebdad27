import { type Static, Type } from 'typebox'
import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { parseBody } from '../validation/parseBody.ts'
import { emailOf, emailProblem, PASSWORD_MAX, passwordProblem } from './rules.ts'
import { ROLES } from './types.ts'
import { closed } from '../validation/closed.ts'

/** The bodies of requests about users. Errors name every wrong field, and never contain a value. */

const email = () => Type.String({ minLength: 1, maxLength: 254, examples: ['ann@example.com'] })
const password = () => Type.String({ minLength: 1, maxLength: PASSWORD_MAX, format: 'password' })
const newPassword = () => Type.String({ minLength: 10, maxLength: PASSWORD_MAX, format: 'password' })
const role = () => Type.Enum([...ROLES], { description: '`viewer`: changes nothing and reads no secret.' })

export const SignIn = Type.Object({ email: email(), password: password() }, closed)

export const Setup = Type.Object(
  {
    code: Type.String({ minLength: 1, maxLength: 64, description: 'From the link: what follows `code=`.' }),
    email: email(),
    password: newPassword(),
  },
  closed,
)

export const CreateUser = Type.Object({ email: email(), password: newPassword(), role: role() }, closed)

export const UpdateUser = Type.Object({ role: role() }, closed)

export const ChangePassword = Type.Object(
  {
    oldPassword: password(),
    newPassword: newPassword(),
    deletePasskeys: Type.Optional(
      Type.Boolean({
        description: 'Deletes your passkeys too. Without it they still sign in.',
        default: false,
      }),
    ),
  },
  closed,
)

export const readSignIn = (body: unknown): Result<Static<typeof SignIn>, FieldErrors> => parseBody(SignIn, body)

export const readSetup = (body: unknown): Result<Static<typeof Setup>, FieldErrors> => withUser(parseBody(Setup, body))

export const readCreateUser = (body: unknown): Result<Static<typeof CreateUser>, FieldErrors> =>
  withUser(parseBody(CreateUser, body))

export const readUpdateUser = (body: unknown): Result<Static<typeof UpdateUser>, FieldErrors> =>
  parseBody(UpdateUser, body)

export const readChangePassword = (body: unknown): Result<Static<typeof ChangePassword>, FieldErrors> =>
  parseBody(ChangePassword, body)

/** Checks what a schema cannot say of a new user. */
function withUser<T extends { email: string; password: string }>(body: Result<T, FieldErrors>): Result<T, FieldErrors> {
  if (!body.ok) return body
  const user = { ...body.value, email: emailOf(body.value.email) }
  const wrong = { email: emailProblem(user.email), password: passwordProblem(user.password) }
  const errors = Object.entries(wrong).flatMap(([field, problem]) => (problem === null ? [] : [[field, [problem]]]))
  return errors.length === 0 ? ok(user) : err(Object.fromEntries(errors) as FieldErrors)
}
