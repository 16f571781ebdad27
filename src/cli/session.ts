import { createLogger } from '../base/log.ts'
import { err, type Result } from '../base/result.ts'
import { pickAccount } from '../commands/accounts/accounts.ts'
import { type Actor, cliActor, type Context } from '../commands/context.ts'
import type { Config, PartialConfig } from '../config/schema.ts'
import type { Call } from './command.ts'
import type { OpenedApp } from './host.ts'
import { misconfigured, type CliRefusal } from './refusal.ts'

/** The account that a command works for, and in whose name its changes are recorded. */
export interface Desk {
  readonly ctx: Context
  readonly accountId: string
  readonly actor: Actor
  /** Who can run commands on the data may see all of it. */
  readonly reader: { readonly accountId: string; readonly seesSecrets: true }
}

type Answered<T> = Promise<Result<T, CliRefusal>>

/** The configuration for this call: what the flags say stands above environment and file. */
export function readConfig({ globals, host }: Call, flags: PartialConfig = {}): Result<Config, CliRefusal> {
  const data = globals.data === undefined ? {} : { data: { dir: globals.data } }
  const config = host.loadConfig({ file: globals.config, env: host.env, flags: { ...flags, ...data } })
  return config.ok ? config : err(misconfigured(config.error))
}

/** Opens Sluice on the configured data for as long as `work` takes. Fine while a server runs on the same data. */
export async function withApp<T>(call: Call, work: (app: OpenedApp) => Answered<T>): Answered<T> {
  const config = readConfig(call)
  if (!config.ok) return config
  const app = await call.host.openApp({ config: config.value, log: quietLogger(call) })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

/** As `withApp`, for the account that `--account` names or the only one there is. */
export function withAccount<T>(call: Call, work: (desk: Desk) => Answered<T>): Answered<T> {
  return withApp(call, async ({ ctx }) => {
    const account = await pickAccount(ctx, call.globals.account)
    if (!account.ok) return account
    const accountId = account.value.id
    return work({ ctx, accountId, actor: cliActor(accountId), reader: { accountId, seesSecrets: true } })
  })
}

/** Standard output belongs to the answer, so the log goes beside it, and only what matters. */
export function quietLogger({ globals, host }: Call): ReturnType<typeof createLogger> {
  const destination = { write: (line: string) => host.stderr(line) }
  return createLogger({
    level: globals.verbose ? 'debug' : 'warn',
    format: globals.json ? 'json' : 'pretty',
    destination,
  })
}
