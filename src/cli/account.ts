import { ok } from '../base/result.ts'
import { createAccount } from '../commands/accounts/accounts.ts'
import { command } from './command.ts'
import { required } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { isoDate } from './print.ts'
import { withApp } from './session.ts'

const create = command({
  path: ['account', 'create'],
  summary: 'Create an account and print its id',
  flags: { name: required('NAME', 'A display name.') },
  examples: ['sluice account create --name "Second studio"', 'sluice account create --name staging --json'],
  run: (call) =>
    withApp(call, async ({ ctx }) => {
      const made = await createAccount(ctx, call.flags.name)
      if (!made.ok) return made
      return ok({ json: toJson(made.value), text: made.value.id })
    }),
})

const list = command({
  path: ['account', 'list'],
  summary: 'List the accounts',
  flags: CSV_FLAG,
  examples: ['sluice account list', 'sluice account list --json'],
  run: (call) =>
    withApp(call, async ({ ctx }) => {
      const accounts = (await ctx.store.read.accounts.list()).map(toJson)
      return ok({ json: accounts, text: listing(COLUMNS, accounts) })
    }),
})

const COLUMNS: Columns<ReturnType<typeof toJson>> = {
  id: ['key', ({ id }) => id],
  name: ['text', ({ name }) => name],
  created: ['text', ({ createdAt }) => createdAt],
}

const toJson = ({ id, name, createdAtMs }: { id: string; name: string; createdAtMs: number }) => ({
  id,
  name,
  createdAt: isoDate(createdAtMs),
})

export const accountCommands = [create, list]
