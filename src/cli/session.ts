import { existsSync } from 'node:fs'
import { createLogger } from '../base/log.ts'
import { err, type Result } from '../base/result.ts'
import { pickAccount } from '../commands/accounts/accounts.ts'
import { type Actor, cliActor, type Context } from '../commands/context.ts'
import type { ConfigProblem } from '../config/problem.ts'
import { isPostgres, storageUrl } from '../config/paths.ts'
import type { Config, PartialConfig } from '../config/schema.ts'
import type { Call, CommandResult } from './command.ts'
import type { OpenedApp } from './host.ts'
import { misconfigured, type CliRefusal } from './refusal.ts'

/** The account of a command, and the actor that its changes are recorded under. */
export interface AccountScope {
  readonly ctx: Context
  readonly accountId: string
  readonly actor: Actor
  /** A user who can run commands on the data may see all of it. */
  readonly reader: { readonly accountId: string; readonly seesSecrets: true }
}

/** Reads the sources of the configuration for this call. Flags override environment and file. */
export function loadSources({ globals, host }: Call, flags: PartialConfig = {}): Result<Config, ConfigProblem[]> {
  const data = globals.data === undefined ? {} : { data: { dir: globals.data } }
  return host.loadConfig({ file: globals.config, env: host.env, flags: { ...flags, ...data } })
}

/** The configuration for this call. */
export function readConfig(call: Call, flags?: PartialConfig): Result<Config, CliRefusal> {
  const config = loadSources(call, flags)
  return config.ok ? config : err(misconfigured(config.error))
}

/** Opens Sluice on the configured data while `work` runs. A server may run on the same data. */
export async function withApp<T>(call: Call, work: (app: OpenedApp) => CommandResult<T>): CommandResult<T> {
  const config = readConfig(call)
  if (!config.ok) return config
  const log = quietLogger(call)
  // In the wrong directory lists are empty, and no server sees what a command makes.
  if (!isPostgres(config.value) && !existsSync(storageUrl(config.value)))
    log.warn({ dataDir: config.value.data.dir }, 'there is no database here, so this command makes a new one')
  const app = await call.host.openApp({ config: config.value, log })
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}

/** Like `withApp`, for the account of `--account` or the only one. */
export function withAccount<T>(call: Call, work: (scope: AccountScope) => CommandResult<T>): CommandResult<T> {
  return withApp(call, async ({ ctx }) => {
    const account = await pickAccount(ctx, call.globals.account)
    if (!account.ok) return account
    const accountId = account.value.id
    return work({ ctx, accountId, actor: cliActor(accountId), reader: { accountId, seesSecrets: true } })
  })
}

/** Standard output is for the answer, so log lines go to standard error, and only important ones. */
export function quietLogger({ globals, host }: Call): ReturnType<typeof createLogger> {
  const destination = { write: (line: string) => host.stderr(line) }
  return createLogger({
    level: globals.verbose ? 'debug' : 'warn',
    format: globals.json ? 'json' : 'pretty',
    destination,
  })
}
