import type { Reloading } from '../cli/host.ts'
import { auditReload, type Reload, type ReloadAnswer } from '../commands/nodes/reload.ts'
import { type ConfigProblem, formatConfigProblem } from '../config/problem.ts'
import type { App } from './app.ts'

const REFUSED = 'the configuration was not reloaded, because something in it is wrong'
const APPLIED = 'the configuration was reloaded'

/**
 * Reads the configuration again and applies what may change at run time: all of it, or nothing when any source has a
 * problem. Reloads run one after another.
 */
export function createReload(app: App, { readConfig, setLogLevel }: Reloading): Reload {
  let running: Promise<unknown> = Promise.resolve()
  const reload: Reload = async ({ isCheck }) => {
    const next = readConfig()
    if (!next.ok) return refused(app, next.error, isCheck)
    const { holder } = app
    if (isCheck) return { ok: true, ...holder.compare(next.value), problems: [] }
    const changes = holder.replace(next.value)
    setLogLevel(app.config.log.level)
    await noteApplied(app, changes)
    return { ok: true, ...changes, problems: [] }
  }
  return (request) => {
    const done = running.then(() => reload(request))
    running = done
    return done
  }
}

function refused({ ctx }: App, problems: readonly ConfigProblem[], isCheck: boolean): ReloadAnswer {
  const sentences = problems.map(formatConfigProblem)
  if (!isCheck) {
    ctx.reloads.add('refused')
    ctx.log.error({ problems: sentences }, REFUSED)
  }
  return { ok: false, applied: [], needRestart: [], problems: sentences }
}

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
