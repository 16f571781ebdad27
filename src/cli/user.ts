import type { Random } from '../base/random.ts'
import { err, ok, type Result } from '../base/result.ts'
import { createUser } from '../commands/users/users.ts'
import { type Call, command } from './command.ts'
import { required, toggleFlag } from './flag.ts'
import { isoDate } from './print.ts'
import { type CliRefusal, usage } from './refusal.ts'
import { withAccount } from './session.ts'

const INPUT_MAX_BYTES = 1024

const create = command({
  path: ['user', 'create'],
  summary: 'Create a user who may sign in, and print only the generated password',
  flags: {
    email: required('ADDRESS', 'The address to sign in with.'),
    'password-stdin': toggleFlag('Read the password from standard input, one line, instead of generating one.'),
  },
  examples: [
    'sluice user create --email ann@example.com',
    'sluice user create --email ann@example.com --password-stdin < password.txt',
  ],
  run: async (call) => {
    const typed = call.flags['password-stdin'] ? await readPassword(call) : ok(null)
    if (!typed.ok) return typed
    return withAccount(call, async ({ ctx, actor }) => {
      const password = typed.value ?? generated(ctx.random)
      const made = await createUser(ctx, actor, { email: call.flags.email, password, role: 'admin' })
      if (!made.ok) return made
      const { id, email, createdAtMs } = made.value
      const json = { id, email, createdAt: isoDate(createdAtMs), ...(typed.value === null ? { password } : {}) }
      return ok({ json, text: typed.value === null ? password : '', hint: `User ${id} (${email}) may sign in.` })
    })
  },
})

/** The first line. Editors and `echo` end it with a line feed that is not part of the password. */
async function readPassword({ host }: Call): Promise<Result<string, CliRefusal>> {
  const input = await host.readStdin(INPUT_MAX_BYTES)
  if (!input.ok) return err(usage(`--password-stdin: ${input.error}`))
  const password = input.value.replace(/\r?\n$/, '')
  if (password === '') return err(usage('--password-stdin: standard input is empty'))
  return /[\r\n]/.test(password) ? err(usage('--password-stdin: the password must be one line')) : ok(password)
}

/** 144 random bits: 24 characters. */
const generated = (random: Random): string => random.bytes(18).toString('base64url')

export const userCommands = [create]
