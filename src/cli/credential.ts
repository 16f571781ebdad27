import { ok } from '../base/result.ts'
import { isoTime } from '../base/time.ts'
import {
  createCredential,
  deleteCredential,
  type FreshCredential,
  listCredentials,
} from '../commands/accounts/credentials.ts'
import { command } from './command.ts'
import { choiceFlag, id, required } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { withAccount } from './session.ts'

const create = command({
  path: ['credential', 'create'],
  summary: 'Create a Basic credential and print only key:secret',
  detail: 'Sluice shows the secret only once and stores its hash. Use it as `curl -u KEY:SECRET`.',
  flags: {
    name: required('NAME', 'A display name.'),
    scope: choiceFlag(['write', 'read'], 'write', 'Its rights; `read` cannot change anything or read secrets.'),
  },
  examples: [
    'sluice credential create --name support --scope read',
    'CREDENTIAL=$(sluice credential create --name control)',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await createCredential(ctx, actor, call.flags.name, call.flags.scope)
      if (!made.ok) return made
      const { credential, value } = made.value
      const secret = value.slice(credential.key.length + 1)
      const hint = `Credential ${credential.id} (${credential.name}). The secret is not shown again.`
      return ok({ json: { ...toJson(credential), secret }, text: value, hint })
    }),
})

const list = command({
  path: ['credential', 'list'],
  summary: 'List the Basic credentials, without their secrets',
  flags: CSV_FLAG,
  examples: ['sluice credential list', 'sluice credential list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const credentials = (await listCredentials(ctx, accountId)).map(toJson)
      return ok({ json: credentials, text: listing(COLUMNS, credentials) })
    }),
})

const remove = command({
  path: ['credential', 'delete'],
  summary: 'Delete a Basic credential; Sluice refuses it from then on',
  args: { id: id('ID', 'The id of the credential, as `sluice credential list` shows it.') },
  examples: ['sluice credential delete 2', 'sluice credential delete 2 --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deleteCredential(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `Credential ${call.args.id} was deleted.` }) : done
    }),
})

const COLUMNS: Columns<ReturnType<typeof toJson>> = {
  id: ['key', ({ id }) => id],
  name: ['text', ({ name }) => name],
  key: ['key', ({ key }) => key],
  scope: ['text', ({ scope }) => scope],
  created: ['time', ({ createdAt }) => createdAt],
}

const toJson = (credential: FreshCredential['credential']) => ({
  id: credential.id,
  name: credential.name,
  key: credential.key,
  scope: credential.scope,
  createdAt: isoTime(credential.createdAtMs),
})

export const credentialCommands = [create, list, remove]
