import { resolve } from 'node:path'
import type { Reloading } from '../cli/host.ts'
import { auditReload, type Reload, type ReloadAnswer } from '../commands/nodes/reload.ts'
import { formatConfigProblem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import type { ProvisionChange } from '../core/provisioning/types.ts'
import type { App } from './app.ts'
import { openEgress } from './deliveries.ts'
import { type Prepare, prepareAll } from './prepared.ts'
import { tryTls } from './tls.ts'

const REFUSED = 'the configuration was not reloaded, because something in it is wrong'
const APPLIED = 'the configuration was reloaded'

/**
 * Reads the configuration again and applies what may change at run time: all of it, or nothing when any source has a
 * problem or a part cannot open what it names. Reloads run one after another.
 */
export function createReload(app: App, { readConfig, setLogLevel }: Reloading, parts: readonly Prepare[]): Reload {
  let running: Promise<unknown> = Promise.resolve()
  const reload: Reload = async ({ isCheck }) => {
    const next = readConfig()
    if (!next.ok) return refused(app, next.error.map(formatConfigProblem), isCheck)
    const { holder } = app
    const missing = await missingFiles(app.config, next.value)
    if (missing.length > 0) return refused(app, missing, isCheck)
    const prepared = await prepareAll(parts, holder.preview(next.value))
    if (!prepared.ok) return refused(app, prepared.error, isCheck)
    const provisioned = await provisionFolder(app, next.value, { isCheck })
    if (provisioned.length > 0 || isCheck) prepared.value.drop()
    if (provisioned.length > 0) return refused(app, provisioned, isCheck)
    if (isCheck) return { ok: true, ...holder.compare(next.value), problems: [] }
    const changes = holder.replace(next.value)
    prepared.value.take()
    setLogLevel(app.config.log.level)
    await noteApplied(app, changes)
    return { ok: true, ...changes, problems: [] }
  }
  return (request) => {
    const done = running.then(() => reload(request)).catch((error: unknown) => failed(app, error))
    running = done
    return done
  }
}

/** What is wrong with files that another configuration names, and that a server reads only when it starts. */
async function missingFiles(now: Config, next: Config): Promise<string[]> {
  const isNew = (of: (config: Config) => unknown): boolean => JSON.stringify(of(now)) !== JSON.stringify(of(next))
  const tried = [
    ...(isNew(({ tls, rtmp }) => [tls, rtmp.tlsPort]) ? [await tryTls(next)] : []),
    ...(isNew(({ webhooks }) => webhooks.caFile) ? [openEgress(next)] : []),
  ]
  return tried.flatMap((one) => (one.ok ? [] : [one.error]))
}

function refused({ ctx }: App, problems: readonly string[], isCheck: boolean): ReloadAnswer {
  if (!isCheck) {
    ctx.reloads.add('refused')
    ctx.log.error({ problems }, REFUSED)
  }
  return { ok: false, applied: [], needRestart: [], problems }
}

/** A fault of ours costs this reload alone: neither the server, nor those that come after it. */
function failed({ ctx }: App, error: unknown): ReloadAnswer {
  ctx.reloads.add('refused')
  ctx.log.error({ err: error }, 'the configuration was not reloaded because of a fault')
  return { ok: false, applied: [], needRestart: [], problems: [`the reload failed: ${(error as Error).message}`] }
}

/** Applies the files of `provision.folder`. Returns what is wrong with them; then nothing was changed. */
export async function provisionFolder(
  { ctx }: Pick<App, 'ctx'>,
  { provision: { folder } }: Config,
  { isCheck }: { readonly isCheck: boolean },
): Promise<string[]> {
  if (folder === '') return []
  // Loaded by servers that have such files only.
  const { provisionFrom } = await import('./provision.ts')
  try {
    const done = await provisionFrom(ctx, resolve(folder), { account: undefined, prune: false, isCheck })
    if (!done.ok) return done.error.map(({ location, message }) => `${location}: ${message}`)
    if (done.value.length > 0 && !isCheck) ctx.log.info({ changes: done.value.map(textOf) }, 'provisioning was applied')
    return []
  } catch (error) {
    ctx.log.error({ err: error }, 'provisioning failed')
    return [`${folder}: could not be applied (${(error as Error).message})`]
  }
}

const textOf = ({ verb, kind, name }: ProvisionChange): string => `${verb} ${kind}.${name}`

/** The new values apply already: a store that cannot be reached now costs the audit rows, which the log has instead. */
async function noteApplied({ ctx }: App, { applied, needRestart }: Pick<ReloadAnswer, 'applied' | 'needRestart'>) {
  ctx.reloads.add('applied')
  ctx.log.info({ applied }, APPLIED)
  if (needRestart.length > 0) {
    const keys = needRestart.map(({ key }) => key)
    ctx.log.warn({ keys }, 'some keys changed that need a restart; their old values apply until then')
  }
  if (applied.length === 0) return
  await auditReload(ctx, applied).catch((error: unknown) =>
    ctx.log.error({ err: error }, 'the reload could not be written to the audit log'),
  )
}
