import { createHmac, hkdfSync } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { systemClock, type Clock } from './base/clock.ts'
import { openCountryDatabase } from './base/geoip.ts'
import { timeOrderedId } from './base/ids.ts'
import { loadOrCreateKeyFile } from './base/keyfile.ts'
import type { Logger } from './base/log.ts'
import { systemRandom, type Random } from './base/random.ts'
import { Sealer } from './base/sealer.ts'
import { AccessRecorder } from './commands/accessLog.ts'
import { ensureAccount } from './commands/accounts.ts'
import { BindingStamps } from './commands/bindings.ts'
import type { Context } from './commands/context.ts'
import { openTokenValue } from './commands/tokenValue.ts'
import { openWebhookSecret } from './commands/webhooks.ts'
import { sealingKeyFile, storageUrl } from './config/places.ts'
import type { Config } from './config/schema.ts'
import type { Mac } from './core/page/cursor.ts'
import { checkTarget } from './core/webhooks/target.ts'
import { createEgress, type Egress } from './delivery/egress.ts'
import { createRunner } from './delivery/runner.ts'
import { headerProfile } from './delivery/signature.ts'
import { buildServer } from './edge/http/server.ts'
import { serviceJobs } from './jobs/retention.ts'
import { startJobs } from './jobs/timers.ts'
import { announcingStore } from './store/announcing.ts'
import { AccessCache } from './store/cached.ts'
import { openStore } from './store/open.ts'
import { VERSION } from './base/version.ts'
import { refuseViewerKey } from './base/viewerKey.ts'

/** Sluice without its doors: the store, the commands' context, the timers. The command line uses just this. */
export interface App {
  readonly config: Config
  readonly ctx: Context
  /** Says `news` when this process has committed something to deliver, and `live` with each change of a live resource. */
  readonly news: EventEmitter
  /** Writes what waits and closes the store. Idempotent. */
  close(): Promise<void>
}

/** Something about this machine or its configuration that keeps Sluice from starting; the message says what to do. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart'
}

export interface AppOptions {
  config: Config
  log: Logger
  clock?: Clock
  random?: Random
}

/** Joins the rooms. The one place that knows them all. */
export async function openApp({ config, log, clock = systemClock, random = systemRandom }: AppOptions): Promise<App> {
  mkdirSync(config.data.dir, { recursive: true, mode: 0o700 })
  const key = sealingKey(config, random)
  const sealer = new Sealer([key], random)
  const countries = config.geoip.database === '' ? null : openCountries(config.geoip.database, log)
  const news = new EventEmitter()
  const opened = await openStore({ url: storageUrl(config), poolSize: config.storage.poolSize, log })
  const store = announcingStore(opened, () => news.emit('news'))
  const cache = new AccessCache({
    store,
    clock,
    log,
    openValue: (valueSealed) => openTokenValue({ sealer }, { valueSealed }),
    maxEntries: config.access.cacheTokens,
    staleMs: config.access.staleSeconds * 1000,
  })
  const recorder = new AccessRecorder({ store, clock, random, log, ...config.access.log })
  const ctx: Context = {
    store,
    cache,
    clock,
    random,
    log,
    sealer,
    recorder,
    policy: { rtmpIpFilters: config.rtmp.ipFilters },
    countryOf: (address) => countries?.countryOf(address.text) ?? null,
    hasCountries: () => countries !== null,
    liveStreams: () => undefined,
    stamps: new BindingStamps(),
    checkTarget: (url) => checkTarget(url, config.webhooks.allowPrivateTargets),
    sign: cursorMac(key),
    liveSettings: { ...config.live, refuseKey: refuseViewerKey },
    liveChanged: (change) => news.emit('live', change),
  }
  await ensureAccount(ctx)
  await cache.start()
  const jobs = startJobs(clock, log, [
    ...serviceJobs(ctx, {
      accessLogDays: config.access.log.retentionDays,
      auditDays: config.audit.retentionDays,
      deliveryDays: config.webhooks.deliveryRetentionDays,
      bindingFlushMs: config.bindings.flushSeconds * 1000,
    }),
    { name: 'reload the country database', everyMs: 5000, run: async () => countries?.reload() },
  ])
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await jobs.stop()
    cache.stop()
    await recorder.flush()
    await ctx.stamps.flush(store).catch((error: unknown) => log.warn({ reason: String(error) }, 'last uses were lost'))
    await store.close()
  }
  return { config, ctx, news, close: () => (closing ??= close()) }
}

/** The HTTP edge over this app, not listening yet. */
export function openDoors({ config: { server, metrics }, ctx }: App): ReturnType<typeof buildServer> {
  return buildServer(ctx, {
    version: VERSION,
    bodyLimitBytes: server.bodyLimitBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    metricsSecret: metrics.secret,
    sign: ctx.sign,
  })
}

/** Listens on the configured host and port. Resolves when it does. */
export async function startServing(app: App): Promise<{ port: number; stop(): Promise<void> }> {
  const { server } = app.config
  const deliveries = await startDeliveries(app)
  const http = await openDoors(app)
  try {
    await http.listen({ host: server.host, port: server.port })
  } catch (error) {
    await http.close()
    await deliveries.stop()
    throw new CannotStart(`cannot listen on ${server.host} port ${server.port}: ${(error as Error).message}`)
  }
  const { port } = http.server.address() as AddressInfo
  const graceMs = server.shutdownGraceSeconds * 1000
  return {
    port,
    async stop() {
      const closed = http.close()
      const drained = await Promise.race([closed.then(() => true), app.ctx.clock.sleep(graceMs).then(() => false)])
      if (!drained) http.server.closeAllConnections()
      await closed
      await deliveries.stop()
    },
  }
}

/** Sends events to webhooks until it is stopped. Only a server does: the command line leaves it to one. */
async function startDeliveries({ config, ctx, news }: App): Promise<{ stop(): Promise<void> }> {
  const { webhooks, server } = config
  const egress = openEgress(config)
  const runner = createRunner({
    ...ctx,
    egress,
    profile: headerProfile(webhooks.headerPrefix),
    userAgent: `Sluice/${VERSION}`,
    openSecret: (secretSealed) => openWebhookSecret(ctx, { secretSealed }),
    nodeId: timeOrderedId(ctx.clock.now(), ctx.random),
    limits: { perLane: webhooks.inFlightPerWebhook, total: webhooks.inFlight },
    drainMs: server.shutdownGraceSeconds * 1000,
  })
  const wake = () => runner.wake()
  news.on('news', wake)
  await runner.start()
  return {
    async stop() {
      news.off('news', wake)
      await runner.stop()
      await egress.close()
    },
  }
}

function openEgress({ webhooks: { allowPrivateTargets, caFile } }: Config): Egress {
  try {
    return createEgress({ allowPrivateTargets, ...(caFile === '' ? {} : { caFile }) })
  } catch (error) {
    throw new CannotStart(`webhooks.caFile: ${caFile} cannot be read as certificates: ${(error as Error).message}`)
  }
}

function sealingKey(config: Config, random: Random): Buffer {
  if (config.secrets.sealingKey !== '') return Buffer.from(config.secrets.sealingKey, 'base64')
  const file = loadOrCreateKeyFile(sealingKeyFile(config), random)
  if (!file.ok) throw new CannotStart(file.error)
  return file.value
}

function openCountries(path: string, log: Logger): ReturnType<typeof openCountryDatabase> {
  try {
    return openCountryDatabase(path, log)
  } catch (error) {
    throw new CannotStart(`geoip.database: ${path} cannot be read as an MMDB file: ${(error as Error).message}`)
  }
}

/** Cursors are signed with a key of their own, derived from the sealing key (RFC 5869). */
function cursorMac(key: Buffer): Mac {
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'sluice list cursors', 32))
  return (data) => createHmac('sha256', derived).update(data).digest()
}
