import { resolve } from 'node:path'
import { allInTurn } from '../base/allEnded.ts'
import { authoritiesProblem } from '../base/authorities.ts'
import { createLogger, type Logger, type LogLevel } from '../base/log.ts'
import { freeStartMemory } from '../base/processMemory.ts'
import { shellWord } from '../base/quote.ts'
import { err, ok } from '../base/result.ts'
import { listSecrets } from '../commands/accounts/secrets.ts'
import { cliActor } from '../commands/context.ts'
import { firstSetupCode } from '../commands/users/setup.ts'
import { configFileOf } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { tlsSource } from '../config/tlsSource.ts'
import { failure } from '../core/errors.ts'
import { SETUP_MINUTES } from '../core/users/setup.ts'
import { readFiles } from '../tls/files.ts'
import { type Call, command, type CommandOutcome } from './command.ts'
import { textFlag, wholeFlag } from './flag.ts'
import type { OpenedApp, Reloading, Serving } from './host.ts'
import { listenProblem, peopleUrl, serverUrl, setupLink } from './port.ts'
import { loadSources, readConfig } from './session.ts'

/** Until then lines of the log are still being written, and the first requests come. */
const FREE_AFTER_MS = 1000

/** Starts the server and runs until it is asked to stop. */
export const serveCommand = command({
  path: ['serve'],
  summary: 'Start the server; it runs until SIGTERM, SIGINT (Ctrl+C) or the end of its terminal',
  detail: [
    'It logs to standard output, and logs `ready` with its address once it listens. On a signal it stops accepting, lets',
    'requests in progress end (server.shutdownGraceSeconds) and closes the store; another signal, a second or more later,',
    'ends it at once. On SIGHUP it reads its configuration again; see `sluice reload`. On SIGUSR2 it drains; see',
    '`sluice node drain`.',
  ].join('\n'),
  flags: {
    port: wholeFlag('N', 'The TCP port; overrides `server.port`. 0 takes any free one.', { max: 65_535 }),
    host: textFlag('ADDRESS', 'The address to listen on; overrides `server.host`.'),
  },
  examples: ['sluice serve --data /var/lib/sluice --port 8080', 'sluice serve --config /etc/sluice/config.yaml'],
  run: async (call) => {
    const { host, port } = call.flags
    const server = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) }
    const read = () => loadSources(call, { server })
    const config = readConfig(call, { server })
    if (!config.ok) return config
    const problem = await startProblem(config.value)
    if (problem !== null) return err(failure('unavailable', problem))
    return serve(call, config.value, read)
  },
})

/** Why a server cannot start, or null. Asked before anything is opened, so that a start that must fail writes nothing. */
async function startProblem(config: Config): Promise<string | null> {
  const tls = tlsSource(config)
  if (!tls.ok) return tls.error
  const certificate = tls.value === 'files' ? await readFiles(config.tls) : tls
  if (!certificate.ok) return certificate.error.message
  const authorities = authoritiesProblem('webhooks.caFile', config.webhooks.caFile)
  return authorities ?? (await listenProblem(config))?.message ?? null
}

async function serve(call: Call, config: Config, readAgain: Reloading['readConfig']): CommandOutcome {
  const { globals, host } = call
  let serving: Serving | null = null
  let freeing: NodeJS.Timeout | undefined
  const stopRequested = host.stopRequested({
    onReload: () => void serving?.reload(),
    onDrain: () => void serving?.drain(),
  })
  const { level, format } = config.log
  const log = createLogger({ level: globals.verbose ? 'debug' : level, format })
  const app = await host.openApp({ config, log, isServer: true })
  try {
    const setLogLevel = (next: LogLevel): void => log.setLevel(globals.verbose ? 'debug' : next)
    serving = await host.startServing(app, { readConfig: readAgain, setLogLevel })
    await logReady(app, log, call, serving.port)
    freeing = setTimeout(() => void freeStartMemory(), FREE_AFTER_MS)
    const drained = serving.drained.then(() => 'drained')
    log.info({ reason: await Promise.race([stopRequested, drained]) }, 'stopping')
  } finally {
    clearTimeout(freeing)
    await allInTurn([() => serving?.stop(), () => app.close()])
  }
  log.info({}, 'stopped')
  return ok({ json: null, text: '' })
}

/**
 * While there is no user, prints a link on a terminal that makes the first one. Elsewhere standard error ends up in the log
 * of a service manager or a container, which must not have the code, so a line names the command that prints a link.
 */
async function offerSetup(
  { ctx, config }: OpenedApp,
  log: Logger,
  { host, globals }: Call,
  base: string,
): Promise<void> {
  const [account] = await ctx.store.read.accounts.list()
  if (!account || (await ctx.store.read.users.exist())) return
  const command = `${host.program} user link ${flagsOf({ host, globals }, config)}`
  log.info({ dataDir: config.data.dir }, `there is no user yet; make a link for the first one with: ${command}`)
  const code = host.stderrIsTerminal ? await firstSetupCode(ctx, cliActor(account.id)) : null
  if (code === null) return
  host.stderr(`\nMake the first user within ${SETUP_MINUTES} minutes: ${setupLink(base, code)}\n`)
  host.stderr(`How to go on: ${base.replace(/\/$/, '')}/docs/\n\n`)
}

/** With these a command finds the data of this server, from any directory. */
function flagsOf({ host, globals }: Pick<Call, 'host' | 'globals'>, { data }: Config): string {
  const file = configFileOf({ file: globals.config, env: host.env })
  const words = [...(file === undefined ? [] : ['--config', resolve(file)]), '--data', resolve(data.dir)]
  return words.map(shellWord).join(' ')
}

/** Logs one line with the server's URL and account. On a fresh installation, further lines say what to do next. */
async function logReady(app: OpenedApp, log: Logger, call: Call, port: number): Promise<void> {
  const { host } = call
  const { ctx, config } = app
  const accounts = await ctx.store.read.accounts.list()
  const accountIds = accounts.map((account) => account.id)
  const url = serverUrl(config, port)
  log.info(
    { url, accountId: accountIds[0], accounts: accountIds.length, version: host.version, pid: process.pid },
    'ready',
  )
  try {
    await logNextSteps(app, log, call, { base: peopleUrl(config, port), accountIds })
  } catch (err) {
    // The server is ready, and goes on without its database, also from this moment on.
    log.warn({ err }, 'the database could not be asked for a user and an API secret')
  }
}

async function logNextSteps(
  app: OpenedApp,
  log: Logger,
  call: Call,
  { base, accountIds }: { base: string; accountIds: readonly string[] },
): Promise<void> {
  const { ctx, config } = app
  if (config.server.dashboard) await offerSetup(app, log, call, base)
  const secrets = await Promise.all(accountIds.slice(0, 20).map((accountId) => listSecrets(ctx, accountId)))
  if (secrets.flat().length > 0) return
  const command = `${call.host.program} secret create --name NAME ${flagsOf(call, config)}`
  log.info({ dataDir: config.data.dir }, `there is no API secret yet; make one with: ${command}`)
}
