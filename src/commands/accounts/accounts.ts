import { accountId } from '../../base/ids.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { Conflict, type Account, type Tx } from '../../store/store.ts'
import { audit, cliActor, type CommandContext } from '../context.ts'

const NAME_MAX = 128
const ID_ATTEMPTS = 5

/** Makes the first account when there is none. Safe when several nodes start at once: only one account is made. */
export async function ensureAccount(ctx: Pick<CommandContext, 'store' | 'clock' | 'random'>): Promise<void> {
  if ((await ctx.store.read.accounts.list()).length > 0) return
  await ctx.store.transaction(async (tx) => {
    await tx.accounts.lockAll()
    if ((await tx.accounts.list()).length > 0) return
    await tx.accounts.insert({ id: accountId(ctx.random), name: 'default', createdAtMs: ctx.clock.now() })
  })
}

export async function createAccount(ctx: CommandContext, name: string): Promise<Result<Account, Failure>> {
  const problem = checkName(name)
  if (problem !== null) return err(failure('bad_request', `name ${problem}`))
  for (let attempt = 1; ; attempt++) {
    const account = { id: accountId(ctx.random), name, createdAtMs: ctx.clock.now() }
    try {
      await ctx.store.transaction(async (tx) => {
        await tx.accounts.insert(account)
        await audit(tx, cliActor(account.id), account.createdAtMs, {
          action: 'account.create',
          subject: account.id,
          after: { name },
        })
      })
      return ok(account)
    } catch (error) {
      // Two of 1.6 thousand million ids met. Once is luck, five times is a broken generator.
      if (!(error instanceof Conflict) || attempt === ID_ATTEMPTS) throw error
    }
  }
}

/**
 * Whether an account with at most `most` of something has room for one more. `count` says how many it has. On PostgreSQL,
 * transactions do not see what others are about to add: from half of the limit on they take turns. So many do not meet.
 */
export async function hasRoom(tx: Tx, accountId: string, most: number, count: () => Promise<number>): Promise<boolean> {
  if ((await count()) < most / 2) return true
  await tx.accounts.lock(accountId)
  return (await count()) < most
}

/** What is wrong with the name of an account, a secret or a credential; null when nothing is. */
export function checkName(name: string): string | null {
  if (name.trim() === '' || name.length > NAME_MAX) return `must have 1 to ${NAME_MAX} characters`
  return /\p{Cc}/u.test(name) ? 'must not contain control characters' : null
}

/** The account that a command means: the named one, or the only one there is. */
export async function pickAccount(ctx: CommandContext, id: string | undefined): Promise<Result<Account, Failure>> {
  const accounts = await ctx.store.read.accounts.list()
  if (id === undefined) {
    const [first, second] = accounts
    if (first && !second) return ok(first)
    return err(
      failure(
        'bad_request',
        first
          ? 'There are several accounts: name one of `sluice account list` with --account ID'
          : 'There is no account',
      ),
    )
  }
  const found = accounts.find((account) => account.id === id)
  return found ? ok(found) : err(failure('not_found', `No account with id: ${id.slice(0, 32)}`))
}
