import type { Random } from '../base/random.ts'
import { err, ok } from '../base/result.ts'
import { isoTime } from '../base/time.ts'
import { createSetupCode } from '../commands/users/setup.ts'
import { createUser, deleteUser, listUsers } from '../commands/users/users.ts'
import { SETUP_MINUTES } from '../core/users/setup.ts'
import { ROLES } from '../core/users/types.ts'
import { type Call, command, type CommandResult } from './command.ts'
import { choiceFlag, id, required, toggleFlag } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { peopleUrl, setupLink } from './port.ts'
import { usage } from './refusal.ts'
import { readConfig, withAccount } from './session.ts'

const INPUT_MAX_BYTES = 1024

const ROLE = choiceFlag(ROLES, 'admin', 'What the user may do; `viewer` changes nothing and reads no secret.')

const create = command({
  path: ['user', 'create'],
  summary: 'Create a user who may sign in, and print only the generated password',
  flags: {
    email: required('ADDRESS', 'The address to sign in with.'),
    role: ROLE,
    'password-stdin': toggleFlag('Read the password from standard input, one line, instead of generating one.'),
  },
  examples: [
    'sluice user create --email ann@example.com --role viewer',
    'sluice user create --email ann@example.com --password-stdin < password.txt',
  ],
  run: async (call) => {
    const typed = call.flags['password-stdin'] ? await readPassword(call) : ok(null)
    if (!typed.ok) return typed
    return withAccount(call, async ({ ctx, actor }) => {
      const password = typed.value ?? generated(ctx.random)
      const made = await createUser(ctx, actor, { email: call.flags.email, password, role: call.flags.role })
      if (!made.ok) return made
      const { id: userId, email, role, createdAtMs } = made.value
      const json = { id: userId, email, role, createdAt: isoTime(createdAtMs) }
      const hint = `User ${userId} (${email}) may sign in.`
      if (typed.value !== null) return ok({ json, text: '', hint })
      return ok({ json: { ...json, password }, text: password, hint })
    })
  },
})

const list = command({
  path: ['user', 'list'],
  summary: 'List the users who may sign in',
  flags: CSV_FLAG,
  examples: ['sluice user list', 'sluice user list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const users = (await listUsers(ctx, accountId)).map(toJson)
      return ok({ json: users, text: listing(COLUMNS, users) })
    }),
})

type User = Awaited<ReturnType<typeof listUsers>>[number]

const toJson = ({ id, email, role, createdAtMs }: User) => ({ id, email, role, createdAt: isoTime(createdAtMs) })

const COLUMNS: Columns<ReturnType<typeof toJson>> = {
  id: ['key', (user) => user.id],
  email: ['text', ({ email }) => email],
  role: ['text', ({ role }) => role],
  created: ['time', ({ createdAt }) => createdAt],
}

const remove = command({
  path: ['user', 'delete'],
  summary: 'Delete a user and end all of their sessions',
  args: { id: id('ID', 'The id of the user, as `sluice user list` shows it.') },
  examples: ['sluice user delete 2', 'sluice user delete 2 --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deleteUser(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `User ${call.args.id} was deleted.` }) : done
    }),
})

const link = command({
  path: ['user', 'link'],
  summary: 'Print a link that makes one user, who chooses e-mail address and password',
  detail: `The link works once and for ${SETUP_MINUTES} minutes. If the server is not at the printed address, replace the part before /dashboard.`,
  flags: { role: ROLE },
  examples: ['sluice user link', 'sluice user link --role viewer'],
  run: (call) => {
    const config = readConfig(call)
    if (!config.ok) return Promise.resolve(config)
    return withAccount(call, async ({ ctx, actor }) => {
      const { role } = call.flags
      const code = await createSetupCode(ctx, actor, { role, firstOnly: false })
      const url = setupLink(peopleUrl(config.value), code)
      return ok({ json: { url, role }, text: url, hint: `Open it within ${SETUP_MINUTES} minutes.` })
    })
  },
})

/** The first line. Editors and `echo` end it with a line feed that is not part of the password. */
async function readPassword({ host }: Call): CommandResult<string> {
  const input = await host.readStdin(INPUT_MAX_BYTES)
  if (!input.ok) return err(usage(`--password-stdin: ${input.error}`))
  const password = input.value.replace(/\r?\n$/, '')
  if (password === '') return err(usage('--password-stdin: standard input is empty'))
  return /[\r\n]/.test(password) ? err(usage('--password-stdin: the password must be one line')) : ok(password)
}

/** 144 random bits: 24 characters. */
const generated = (random: Random): string => random.bytes(18).toString('base64url')

export const userCommands = [create, list, remove, link]
