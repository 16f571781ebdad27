import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp, type App } from '../../src/app/app.ts'
import type { Clock } from '../../src/base/clock.ts'
import { loadOrCreateKeyFile } from '../../src/base/keyfile.ts'
import type { Logger, LogLevel } from '../../src/base/log.ts'
import type { PasswordCost } from '../../src/base/password.ts'
import { systemRandom } from '../../src/base/random.ts'
import { repeat } from '../../src/base/repeat.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import type { ReloadAnswer } from '../../src/commands/nodes/reload.ts'
import { loadConfig } from '../../src/config/load.ts'
import { sealingKeyFile, storageUrl } from '../../src/config/paths.ts'
import { speaksTls } from '../../src/config/tlsSource.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import type { MediaEngine } from '../../src/media/engine.ts'
import { startServing } from '../../src/app/server.ts'
import { FastClock } from './fastClock.ts'
import { silentLog } from './log.ts'
import { CHEAP_PASSWORDS } from './passwords.ts'
import { migrateByCopy } from './place.ts'

export interface RunningApp {
  app: App
  accountId: string
  /** The API secret of the first account. */
  secret: string
  base: string
  /** The RTMP port; null if RTMP is disabled. */
  rtmpPort: number | null
  /** Null without RTMPS. */
  rtmpsPort: number | null
  srtPort: number | null
  dataDir: string
  /** A request with the secret; the body is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Reloads the configuration, with these flags in place of those of the start. */
  reload(flags: PartialConfig): Promise<ReloadAnswer>
  /** Resolves when it has drained, and has to stop. */
  drained: Promise<void>
  close(): Promise<void>
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The parsed body; undefined if it is not JSON. */
  json: ReturnType<typeof JSON.parse>
}

export interface AppSettings {
  /** Forwards media. */
  engine?: MediaEngine
  flags?: PartialConfig
  clock?: Clock
  dataDir?: string
  /** By default errors alone. */
  log?: Logger
  setLogLevel?: (level: LogLevel) => void
  /** By default no client asks often, so that stops wait for none. */
  oftenMs?: number
  /** By default passwords are cheap. */
  passwordCost?: PasswordCost
}

/** Sluice in this process, on a free loopback port, with a fresh data directory and one API secret. */
export async function runApp(settings: AppSettings = {}): Promise<RunningApp> {
  const { flags = {}, clock, dataDir, engine, log = silentLog, passwordCost = CHEAP_PASSWORDS, oftenMs = 0 } = settings
  const dir = dataDir ?? (await mkdtemp(join(tmpdir(), 'sluice-test-')))
  const load = (over: PartialConfig) =>
    loadConfig({
      env: {},
      flags: {
        ...over,
        server: { host: '127.0.0.1', port: 0, ...over.server },
        rtmp: { host: '127.0.0.1', port: 0, ...over.rtmp },
        srt: { host: '127.0.0.1', port: 0, ...over.srt },
        webrtc: { port: 0, ...over.webrtc },
        data: { dir },
      },
    })
  const config = load(flags)
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  if (dataDir === undefined && config.value.storage.url === '') {
    if (config.value.secrets.sealingKey === '') loadOrCreateKeyFile(sealingKeyFile(config.value), systemRandom)
    await migrateByCopy(storageUrl(config.value))
  }
  const options = { config: config.value, log, isServer: true, passwordCost }
  const app = await openApp({ ...options, ...(clock ? { clock } : {}) })
  const [account] = await app.ctx.store.read.accounts.list()
  if (!account) throw new Error('no account')
  const actor = cliActor(account.id)
  const made = await createSecret(app.ctx, actor, `test ${Math.random()}`)
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  const reloading = { flags, readConfig: () => load(reloading.flags), setLogLevel: settings.setLogLevel ?? (() => {}) }
  // A second of a fast clock is shorter than the one of the timer that asks what is due.
  const looking =
    clock instanceof FastClock
      ? repeat({ clock, log, name: 'look as often as seconds pass', everyMs: 1000 }, () => app.due.look())
      : null
  const server = await startServing(app, { ...(engine ? { engine } : {}), reloading, oftenMs })
  const scheme = speaksTls(config.value) ? 'https' : 'http'
  const base = `${scheme}://127.0.0.1:${server.port}`
  return {
    app,
    accountId: account.id,
    secret: made.value.value,
    base,
    rtmpPort: server.rtmpPort,
    rtmpsPort: server.rtmpsPort,
    srtPort: server.srtPort,
    dataDir: dir,
    call: (method, path, body, headers) => call(base, made.value.value, method, path, body, headers),
    reload(next) {
      reloading.flags = next
      return server.reload()
    },
    drained: server.drained,
    async close() {
      await looking?.stop()
      await server.stop()
      await app.close()
      if (dataDir === undefined) await rm(dir, { recursive: true, force: true })
    },
  }
}

async function call(
  base: string,
  secret: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(base + path, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
  })
  const text = await response.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}
