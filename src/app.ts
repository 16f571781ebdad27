import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { systemClock, type Clock } from './base/clock.ts'
import { openCountryDatabase } from './base/geoip.ts'
import { isRunning } from './base/processes.ts'
import { timeOrderedId } from './base/ids.ts'
import { loadOrCreateKeyFile } from './base/keyfile.ts'
import type { Logger } from './base/log.ts'
import { systemRandom, type Random } from './base/random.ts'
import { Sealer } from './base/sealer.ts'
import { AccessRecorder } from './commands/accessLog.ts'
import { ensureAccount } from './commands/accounts.ts'
import { BindingStamps } from './commands/bindings.ts'
import type { Context } from './commands/context.ts'
import { followEngine } from './commands/live/engineEvents.ts'
import { startNode } from './commands/live/nodes.ts'
import { followChanges, lookElsewhere } from './commands/live/revoke.ts'
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
import { sessionJobs } from './jobs/sessions.ts'
import { startJobs } from './jobs/timers.ts'
import type { Engine } from './media/engine.ts'
import { createFfmpeg } from './media/packager/ffmpeg.ts'
import { createPackager, type Packager } from './media/packager/packager.ts'
import { Live } from './media/sessions.ts'
import { announcingStore } from './store/announcing.ts'
import { AccessCache } from './store/cached.ts'
import { openStore } from './store/open.ts'
import { Tally } from './base/tally.ts'
import { VERSION } from './base/version.ts'

/** Sluice without its doors: the store, the commands' context, the timers. The command line uses just this. */
export interface App {
  readonly config: Config
  readonly ctx: Context
  /** Signs list cursors; the same on every node that has the same sealing key. */
  readonly sign: Mac
  /** The sealing key, to derive others from. */
  readonly key: Buffer
  /** Says `news` when this process has committed something to deliver. */
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
  const live = new Live(config.sessions.max)
  const ctx: Context = {
    store,
    cache,
    clock,
    random,
    log,
    sealer,
    recorder,
    deliveries: new Tally(),
    policy: { rtmpIpFilters: config.rtmp.ipFilters },
    countryOf: (address) => countries?.countryOf(address.text) ?? null,
    hasCountries: () => countries !== null,
    live,
    liveStreams: (account, stream) => live.onAir(account, stream),
    stamps: new BindingStamps(),
    checkTarget: (url) => checkTarget(url, config.webhooks.allowPrivateTargets),
  }
  await ensureAccount(ctx)
  await cache.start()
  const unfollow = followChanges(ctx)
  await lookElsewhere(ctx)
  const jobs = startJobs(clock, log, [
    ...serviceJobs(ctx, {
      accessLogDays: config.access.log.retentionDays,
      auditDays: config.audit.retentionDays,
      deliveryDays: config.webhooks.deliveryRetentionDays,
      sessionDays: config.sessions.retentionDays,
      usageDays: config.analytics.retentionDays,
      bindingFlushMs: config.bindings.flushSeconds * 1000,
    }),
    { name: 'reload the country database', everyMs: 5000, run: async () => countries?.reload() },
  ])
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await jobs.stop()
    unfollow()
    cache.stop()
    await recorder.flush()
    await ctx.stamps.flush(store).catch((error: unknown) => log.warn({ reason: String(error) }, 'last uses were lost'))
    await store.close()
  }
  return { config, ctx, key, news, sign: cursorMac(key), close: () => (closing ??= close()) }
}

/** What carries media; what is missing is not served. */
interface Media {
  readonly engine?: Engine
  readonly packager?: Packager
}

/** The HTTP edge over this app, not listening yet. */
export function openDoors({ config, ctx, sign, key }: App, media: Media = {}): ReturnType<typeof buildServer> {
  const { server, metrics, hls, webrtc } = config
  const { iceServers, pendingOffers: maxPending } = webrtc
  const { engine, packager } = media
  return buildServer(ctx, {
    ...(engine ? { webRtc: { engine, iceServers, maxPending } } : {}),
    version: VERSION,
    bodyLimitBytes: server.bodyLimitBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    metricsSecret: metrics.secret,
    sign,
    demo: server.demo,
    ...(packager
      ? {
          hls: {
            hls: packager.hls,
            key: derivedKey(key, 'sluice hls tickets'),
            sessionMs: hls.sessionSeconds * 1000,
          },
        }
      : {}),
  })
}

/** Listens on the configured host and port. Resolves when it does. */
export async function startServing(app: App, engine?: Engine): Promise<{ port: number; stop(): Promise<void> }> {
  const { server } = app.config
  const deliveries = await startDeliveries(app)
  const sessions = await startSessions(app)
  const unfollow = engine ? followEngine(app.ctx, engine) : () => undefined
  const packager = startPackager(app)
  const http = await openDoors(app, { ...(engine ? { engine } : {}), packager })
  try {
    await http.listen({ host: server.host, port: server.port })
  } catch (error) {
    await http.close()
    await packager.stop()
    await sessions.stop()
    await deliveries.stop()
    throw new CannotStart(`cannot listen on ${server.host} port ${server.port}: ${(error as Error).message}`)
  }
  const { port } = http.server.address() as AddressInfo
  const graceMs = server.shutdownGraceSeconds * 1000
  return {
    port,
    async stop() {
      // First, while the doors are open: long answers to viewers end with their sessions.
      await sessions.stop()
      await packager.stop()
      const closed = http.close()
      const drained = await Promise.race([closed.then(() => true), app.ctx.clock.sleep(graceMs).then(() => false)])
      if (!drained) http.server.closeAllConnections()
      await closed
      await engine?.stop()
      unfollow()
      await deliveries.stop()
    },
  }
}

/** Packages what is on the air until it is stopped. */
function startPackager({ config, ctx }: App): Packager {
  const { ffmpeg, hls } = config
  return createPackager({
    ...ctx,
    ffmpeg: createFfmpeg({ ...ctx, binary: ffmpeg.path, maxChildren: ffmpeg.maxProcesses }),
    maxStreams: hls.maxStreams,
    idleMs: hls.idleSeconds * 1000,
    segmentSeconds: hls.segmentSeconds,
    listSegments: hls.listSegments,
  })
}

/** Holds sessions until it is stopped; ends them all then. */
async function startSessions({ config, ctx }: App): Promise<{ stop(): Promise<void> }> {
  const node = await startNode(ctx, {
    place: `${hostname()}:${resolve(config.data.dir)}`,
    pid: process.pid,
    isRunning,
    leaseMs: config.sessions.leaseSeconds * 1000,
  })
  const tendMs = config.sessions.flushSeconds * 1000
  const noViewersMs = config.sessions.noViewersSeconds * 1000
  const jobs = startJobs(ctx.clock, ctx.log, sessionJobs(ctx, node, { tendMs, noViewersMs }))
  return {
    async stop() {
      await jobs.stop()
      await node.stop()
    },
  }
}

/** Sends events to webhooks until it is stopped. Only a server does: the command line leaves it to one. */
async function startDeliveries({ config, ctx, news }: App): Promise<{ stop(): Promise<void> }> {
  const { webhooks, server } = config
  const egress = openEgress(config)
  const runner = createRunner({
    ...ctx,
    ended: ctx.deliveries,
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
  const derived = derivedKey(key, 'sluice list cursors')
  return (data) => createHmac('sha256', derived).update(data).digest()
}

const derivedKey = (key: Buffer, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)))
