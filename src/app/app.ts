import { mkdirSync } from 'node:fs'
import { allInTurn } from '../base/allEnded.ts'
import { liveAddressList } from '../base/addressList.ts'
import { Bus } from '../base/bus.ts'
import { Starts, systemClock, type Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { PASSWORD_COST, type PasswordCost } from '../base/password.ts'
import { systemRandom, type Random } from '../base/random.ts'
import { SampledLog } from '../base/sampledLog.ts'
import { Sealer } from '../base/sealer.ts'
import { SegmentMemory } from '../base/segmentMemory.ts'
import { AccessRecorder } from '../services/accessRecorder.ts'
import { ensureAccount } from '../commands/accounts/accounts.ts'
import { AudienceNow } from '../services/audienceNow.ts'
import { AccountMinutes } from '../services/accountMinutes.ts'
import { LatestThumbnails } from '../services/latestThumbnails.ts'
import { MediaProcesses } from '../services/mediaProcesses.ts'
import { NodeLoad } from '../services/nodeLoad.ts'
import { PlayerReports } from '../services/playerReports.ts'
import { ViewerFeedback } from '../services/viewerFeedback.ts'
import { LastUses } from '../services/lastUses.ts'
import { RestreamUsage } from '../services/restreamUsage.ts'
import { StreamMeter } from '../services/streamMeter.ts'
import type { ChannelChange, Context } from '../commands/context.ts'
import { followChanges, readStaleFeeds } from '../commands/sessions/revoke.ts'
import { settleSpares } from '../commands/sessions/spares.ts'
import { emitHealth } from '../commands/streams/emitHealth.ts'
import { openTokenValue } from '../commands/tokens/tokenValue.ts'
import { storageUrl } from '../config/paths.ts'
import { ConfigHolder, liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import type { Mac } from '../core/pages/cursor.ts'
import type { TargetPolicy } from '../core/restream/targets.ts'
import { SessionSlots } from '../core/sessions/slots.ts'
import { checkTarget } from '../core/webhooks/target.ts'
import { serviceJobs } from '../jobs/retention.ts'
import { type PeriodicJob, startJobs } from '../jobs/timers.ts'
import { ChannelStreams } from '../media/hls/channelStreams.ts'
import { StreamNumbers } from '../media/hls/streamNumbers.ts'
import { SessionRegistry } from '../media/sessionRegistry.ts'
import { notifyingStore } from '../store/notifying.ts'
import { AccessCache } from '../store/cached.ts'
import { DueLook } from '../store/dueLook.ts'
import { openStore, type StoreOptions } from '../store/open.ts'
import { StopTimeout } from '../store/stopTimeout.ts'
import type { Store } from '../store/store.ts'
import { DatabaseTime } from '../store/time.ts'
import { Tally } from '../base/tally.ts'
import { VERSION } from '../base/version.ts'
import { refuseViewerKey } from '../base/viewerKey.ts'
import { cascadeOf } from './cascade.ts'
import { CountryLookup } from './countryLookup.ts'
import { derivationsOf, viewerSeed } from './derivedKeys.ts'
import { type Keyring, openKeyring, otherKeyProblem } from './keyring.ts'
import { slateProbeOf } from './slates.ts'

/** Events in this process that several parts of it listen to. */
export interface ProcessEvents {
  /** This process has committed something to deliver. */
  readonly toDeliver: void
  /** This process has changed a part of a channel. */
  readonly channelChanged: ChannelChange
}

/** Sluice without its network edges: the store, the commands' context, the timers. The command line needs only this. */
export interface App {
  /** The present configuration. A reload replaces it, so read a key that applies at run time when it is used. */
  readonly config: Config
  /** Holds the configuration. Only a reload replaces it. */
  readonly holder: ConfigHolder
  readonly countries: CountryLookup
  readonly ctx: Context
  /** Signs list cursors; the same on all nodes with the same sealing key. */
  readonly sign: Mac
  /** The sealing key, from which other keys are derived. */
  readonly key: Buffer
  readonly bus: Bus<ProcessEvents>
  /** Tells the parts of this node what is due, from one read a second. */
  readonly due: DueLook
  /** Where the segments of live HLS are kept. */
  readonly segmentMemory: SegmentMemory
  /** The live HLS of this node's engines. */
  readonly channelStreams: ChannelStreams
  /** Where the HLS streams of this node begin to count. */
  readonly streamNumbers: StreamNumbers
  /** How long it waits for the database server when it stops. */
  readonly stopTimeout: StopTimeout
  /** Flushes pending writes and closes the store. Idempotent. */
  close(): Promise<void>
}

/** The machine or the configuration keeps Sluice from starting; the message says what to do. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart'
}

export interface AppOptions {
  config: Config
  log: Logger
  /** Replaces the store that the configuration names. */
  store?: Store
  /** Replaces the clock that follows the database. */
  clock?: Clock
  /** The clock of this machine, which may be wrong. */
  machineClock?: Clock
  random?: Random
  /** Replaces the cost of new passwords. */
  passwordCost?: PasswordCost
}

/** A machine clock that differs more from the database's gets a warning. */
const WRONG_CLOCK_MS = 2_000

/** The composition root: creates and connects the parts. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, log, random = systemRandom, passwordCost = PASSWORD_COST } = options
  const holder = new ConfigHolder(config)
  const now = () => holder.current
  mkdirSync(config.data.dir, { recursive: true, mode: 0o700 })
  const keys = keyring(config, random)
  const [key] = keys
  const sealer = new Sealer(keys, random)
  const countries = countriesOf(config, log)
  const bus = new Bus<ProcessEvents>()
  const stopTimeout = stopTimeoutOf(log)
  const store = await storeOf(options, bus, stopTimeout)
  const time = await timeOf(store, options)
  const clock = options.clock ?? time.clock
  const cache = new AccessCache({ store, clock, log, ...cacheOptions(now, sealer) })
  const recorder = new AccessRecorder({ store, clock, random, log, limits: liveView(() => now().access.log) })
  const sessions = new SessionRegistry()
  const ctx: Context = {
    store,
    cache,
    clock,
    time,
    random,
    log,
    sampled: sampledLogs(log, clock),
    sealer,
    recorder,
    deliveries: new Tally(),
    reloads: new Tally(),
    ...settingsOf(now, clock, sessions),
    probeSlate: slateProbeOf(config, clock, log),
    ...factsOfCountries(countries),
    sessions,
    ...metersOf(clock, sessions, viewerSeed(key), now),
    streamsOnAir: (account, stream) => sessions.feeds.onAir(account, stream),
    ...derivationsOf(keys),
    ...cascadeOf({ clock, random, log, sessions, cache, store }, keys, now),
    passwordCost,
    channelChanged: (change) => bus.emit('channelChanged', change),
  }
  await prepare(ctx, config)
  await cache.start()
  const due = new DueLook({ store, changes: cache, clock, log, node: () => sessions.node })
  due.start()
  const unfollow = followChanges(ctx, settleSpares)
  await readStaleFeeds(ctx, settleSpares)
  const jobs = startJobs(ctx, [...serviceJobs(ctx, jobSettings(now)), ...followingJobs(time, countries)])
  const running = [() => Promise.all([jobs.stop(), due.stop()]), unfollow]
  return {
    get config() {
      return holder.current
    },
    holder,
    countries,
    ctx,
    key,
    bus,
    due,
    stopTimeout,
    ...streamsOf(clock),
    sign: ctx.sign,
    close: once(() => closeAll(ctx, stopTimeout, running)),
  }
}

function closeAll(
  { cache, recorder, lastUses, store, log }: Context,
  stopTimeout: StopTimeout,
  running: readonly (() => unknown)[],
): Promise<void> {
  stopTimeout.begin()
  return allInTurn([
    ...running,
    () => cache.stop(),
    () => recorder.flush(),
    () => lastUses.flush(store).catch((error: unknown) => log.warn({ err: error }, 'last uses were lost')),
    () => store.close(),
  ])
}

const followingJobs = (time: DatabaseTime, countries: CountryLookup): PeriodicJob[] => [
  { name: 'set the clock by the database', everyMs: 5000, run: () => time.look() },
  { name: 'reload the country database', everyMs: 5000, run: async () => countries.reload() },
]

function streamsOf(clock: Clock): Pick<App, 'segmentMemory' | 'streamNumbers' | 'channelStreams'> {
  const [segmentMemory, streamNumbers] = [new SegmentMemory(), new StreamNumbers(clock)]
  return { segmentMemory, streamNumbers, channelStreams: new ChannelStreams(clock, streamNumbers, segmentMemory) }
}

const factsOfCountries = (countries: CountryLookup): Pick<Context, 'countryOf' | 'hasCountries'> => ({
  countryOf: (address) => countries.countryOf(address.text),
  hasCountries: () => countries.isThere,
})

const metersOf = (
  clock: Clock,
  sessions: SessionRegistry,
  seed: number,
  now: () => Config,
): Pick<
  Context,
  | 'lastUses'
  | 'streamMeter'
  | 'latestThumbnails'
  | 'accountMinutes'
  | 'audience'
  | 'restreamUsage'
  | 'mediaProcesses'
  | 'playerReports'
  | 'viewerFeedback'
  | 'runStarts'
> => ({
  lastUses: new LastUses(),
  streamMeter: new StreamMeter({ clock, sessions, tell: emitHealth }),
  latestThumbnails: new LatestThumbnails(sessions.feeds),
  accountMinutes: new AccountMinutes({ clock, sessions }),
  audience: new AudienceNow(clock, seed),
  restreamUsage: new RestreamUsage(clock),
  mediaProcesses: new MediaProcesses(clock),
  playerReports: new PlayerReports(clock, () => now().analytics.playerReports),
  viewerFeedback: new ViewerFeedback(clock),
  runStarts: new Starts(),
})

const cacheOptions = (now: () => Config, sealer: Sealer) => ({
  openValue: (valueSealed: Uint8Array) => openTokenValue({ sealer }, { valueSealed }),
  maxEntries: now().access.cacheTokens,
  staleMs: () => now().access.staleSeconds * 1000,
})

/** What commands need of the configuration, as it is at each use. */
function settingsOf(
  now: () => Config,
  clock: Clock,
  sessions: SessionRegistry,
): Pick<Context, 'policy' | 'targetPolicy' | 'isProxy' | 'slots' | 'nodeLoad' | 'checkTarget' | 'channelSettings'> {
  return {
    ...loadLimitsOf(now, clock, sessions),
    policy: liveView(() => ({ rtmpIpFilters: now().rtmp.ipFilters })),
    targetPolicy: liveView(() => targetPolicyOf(now())),
    isProxy: liveAddressList(() => now().server.trustedProxies),
    checkTarget: (url) => checkTarget(url, now().webhooks.allowPrivateTargets),
    channelSettings: liveView(() => ({
      ...now().channels,
      rtmpUrl: rtmpUrlOf(now()),
      srtUrl: srtUrlOf(now()),
      refuseKey: refuseViewerKey,
      sources: targetPolicyOf(now()),
    })),
  }
}

/** How much this node takes. */
function loadLimitsOf(
  now: () => Config,
  clock: Clock,
  { leaving, counts }: SessionRegistry,
): Pick<Context, 'slots' | 'nodeLoad'> {
  const slots = new SessionSlots(liveView(() => now().sessions))
  const nodeLoad = new NodeLoad({
    clock,
    hasNoSlot: () => slots.isFullForViewers(leaving.size),
    bytesOut: () => counts.bytesOut + counts.otherBytesOut,
    maxEgress: () => now().server.maxEgressMegabits * 1_000_000,
  })
  return { slots, nodeLoad }
}

/** Runs `work` at the first call; later calls get the same promise. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => (running ??= work())
}

const jobSettings = (now: () => Config): Parameters<typeof serviceJobs>[1] => ({
  keep: liveView(() => ({
    accessLogDays: now().access.log.retentionDays,
    auditDays: now().audit.retentionDays,
    deliveryDays: now().webhooks.deliveryRetentionDays,
    sessionDays: now().sessions.retentionDays,
    usageDays: now().analytics.retentionDays,
    runDays: now().channels.runRetentionDays,
  })),
  bindingFlushMs: now().bindings.flushSeconds * 1000,
})

/** At most about 200 MB a day under constant requests. */
const LINES_PER_MINUTE = 600

function sampledLogs(log: Logger, clock: Clock): Context['sampled'] {
  const sampled = () => new SampledLog(log, clock, LINES_PER_MINUTE)
  return { refusals: sampled(), answers: sampled(), publishers: sampled(), sessions: sampled(), deliveries: sampled() }
}

async function timeOf(store: Store, { machineClock = systemClock, log }: AppOptions): Promise<DatabaseTime> {
  const time = new DatabaseTime(store, machineClock)
  await time.look()
  const aheadMs = -time.offsetMs
  if (Math.abs(aheadMs) > WRONG_CLOCK_MS) {
    log.warn(
      { aheadMs },
      'the clock of this machine differs from that of the database, which is used; set both with NTP',
    )
  }
  return time
}

/** Reports each commit with something to deliver. */
async function storeOf(
  { config, log, store }: AppOptions,
  bus: Bus<ProcessEvents>,
  stopTimeout: StopTimeout,
): Promise<Store> {
  const opened = store ?? (await openStore({ ...storeOptions(config, log), stopTimeout }))
  return notifyingStore(opened, () => bus.emit('toDeliver', undefined))
}

function stopTimeoutOf(log: Logger): StopTimeout {
  const stopTimeout = new StopTimeout()
  const what =
    'the database server gives no answer: this process ends without it, and what is not written is lost as in a crash'
  stopTimeout.givenUp.addEventListener('abort', () => log.error({}, what))
  return stopTimeout
}

const storeOptions = (config: Config, log: Logger): StoreOptions => ({
  url: storageUrl(config),
  poolSize: config.storage.poolSize,
  copies: { keep: config.storage.migrationCopies, version: VERSION },
  log,
})

function keyring(config: Config, random: Random): Keyring {
  const keys = openKeyring(config, random)
  if (!keys.ok) throw new CannotStart(keys.error)
  return keys.value
}

/** Checks the key, and makes the first account of a new database. If the key is wrong, it closes the store and throws. */
async function prepare(ctx: Context, config: Config): Promise<void> {
  const problem = await otherKeyProblem(ctx, config)
  if (problem === null) return ensureAccount(ctx)
  await ctx.store.close()
  throw new CannotStart(problem)
}

function countriesOf(config: Config, log: Logger): CountryLookup {
  const countries = new CountryLookup(log)
  const prepared = countries.prepare(config)
  if (!prepared.ok) throw new CannotStart(prepared.error)
  prepared.value.take()
  return countries
}

/** Only the names that the configuration has are known as ours; each dial checks the address that it leads to. */
function targetPolicyOf(config: Config): TargetPolicy {
  const urls = [config.server.publicUrl, config.server.nodeUrl, rtmpUrlOf(config)]
  const hosts = new Set(urls.flatMap((url) => URL.parse(url)?.hostname.toLowerCase() ?? []))
  const ofHttp = [config.server.port, ...[config.server.publicUrl, config.server.nodeUrl].map(portOfHttp)]
  const ports = { tcp: [config.rtmp.port, config.rtmp.tlsPort, ...ofHttp], udp: [config.srt.port] }
  return {
    allowPrivate: config.media.allowedNetworks.length > 0,
    isOurs: (host, port, transport) => hosts.has(host) && ports[transport].includes(port),
  }
}

/** Null: there is no such URL. */
function portOfHttp(text: string): number | null {
  const url = URL.parse(text)
  return url && Number(url.port || (url.protocol === 'https:' ? 443 : 80))
}

/** The address to which publishers push: the configured one, or this machine. Port 0, any free one, is for tests. */
const rtmpUrlOf = ({ channels, rtmp }: Config): string =>
  channels.rtmpUrl || `rtmp://localhost:${rtmp.port || 1935}/live`

/** The same over SRT, at the host of the configured addresses. */
function srtUrlOf({ server, channels, srt }: Config): string {
  const url = server.publicUrl || server.nodeUrl || channels.rtmpUrl || 'http://localhost'
  return `srt://${new URL(url).hostname}:${srt.port || 10_000}`
}
