import { ok } from '../base/result.ts'
import { isoTime } from '../base/time.ts'
import {
  createSecret,
  deleteSecret,
  type FreshSecret,
  listSecrets,
  refreshSecret,
} from '../commands/accounts/secrets.ts'
import { type CommandAnswer, command } from './command.ts'
import { id, required } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { withAccount } from './session.ts'

const SECRET_ID = id('ID', 'The id of the secret, as `sluice secret list` shows it.')

const create = command({
  path: ['secret', 'create'],
  summary: 'Create an API secret and print only the secret',
  detail: 'Sluice shows the secret only once and stores its hash. Programs send it as `Authorization: Bearer SECRET`.',
  flags: { name: required('NAME', 'A display name, unique in the account.') },
  examples: ['sluice secret create --name ci', 'SECRET=$(sluice secret create --name backend)'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await createSecret(ctx, actor, call.flags.name)
      return made.ok ? ok(fresh(made.value)) : made
    }),
})

const list = command({
  path: ['secret', 'list'],
  summary: 'List the API secrets, without their values',
  flags: CSV_FLAG,
  examples: ['sluice secret list', 'sluice secret list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const secrets = (await listSecrets(ctx, accountId)).map(toJson)
      return ok({ json: secrets, text: listing(COLUMNS, secrets) })
    }),
})

const refresh = command({
  path: ['secret', 'refresh'],
  summary: 'Replace the value of an API secret and print only the new one',
  detail: 'Sluice refuses the old value from then on, on running servers too.',
  args: { id: SECRET_ID },
  examples: ['sluice secret refresh 1', 'SECRET=$(sluice secret refresh 1)'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await refreshSecret(ctx, actor, call.args.id)
      return made.ok ? ok(fresh(made.value)) : made
    }),
})

const remove = command({
  path: ['secret', 'delete'],
  summary: 'Delete an API secret; Sluice refuses it from then on',
  args: { id: SECRET_ID },
  examples: ['sluice secret delete 1', 'sluice secret delete 1 --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deleteSecret(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `API secret ${call.args.id} was deleted.` }) : done
    }),
})

const COLUMNS: Columns<ReturnType<typeof toJson>> = {
  id: ['key', ({ id }) => id],
  name: ['text', ({ name }) => name],
  'ends in': ['text', ({ hint }) => `…${hint}`],
  created: ['time', ({ createdAt }) => createdAt],
  refreshed: ['time', ({ refreshedAt }) => refreshedAt],
}

const toJson = (secret: FreshSecret['secret']) => ({
  id: secret.id,
  name: secret.name,
  hint: secret.hint,
  createdAt: isoTime(secret.createdAtMs),
  ...(secret.refreshedAtMs === null ? {} : { refreshedAt: isoTime(secret.refreshedAtMs) }),
})

const fresh = ({ secret, value }: FreshSecret): CommandAnswer => ({
  json: { ...toJson(secret), secret: value },
  text: value,
  hint: `API secret ${secret.id} (${secret.name}). It is not shown again.`,
})

export const secretCommands = [create, list, refresh, remove]
