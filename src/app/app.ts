import { statSync } from 'node:fs'
import { allInTurn } from '../base/allEnded.ts'
import { Bus } from '../base/bus.ts'
import { systemClock, type Clock } from '../base/clock.ts'
import { fileProblem, hasCode } from '../base/errorCode.ts'
import { makeFolder } from '../base/files.ts'
import type { Logger } from '../base/log.ts'
import { PASSWORD_COST, type PasswordCost } from '../base/password.ts'
import { systemRandom, type Random } from '../base/random.ts'
import { SegmentMemory } from '../base/segmentMemory.ts'
import { VERSION } from '../base/version.ts'
import { ensureAccount } from '../commands/accounts/accounts.ts'
import type { ChannelChange, Context } from '../commands/context.ts'
import { followChanges, readStaleFeeds } from '../commands/sessions/revoke.ts'
import { settleSpares } from '../commands/sessions/spares.ts'
import { ConfigHolder, liveView } from '../config/holder.ts'
import { storageUrl } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { Mac } from '../core/pages/cursor.ts'
import { serviceJobs } from '../jobs/retention.ts'
import { type PeriodicJob, startJobs } from '../jobs/timers.ts'
import { ChannelStreams } from '../media/hls/channelStreams.ts'
import { StreamNumbers } from '../media/hls/streamNumbers.ts'
import { DueLook } from '../store/dueLook.ts'
import { notifyingStore } from '../store/notifying.ts'
import { openStore, type StoreOptions } from '../store/open.ts'
import { StopTimeout } from '../store/stopTimeout.ts'
import type { Store } from '../store/store.ts'
import { DatabaseTime } from '../store/time.ts'
import { contextOf } from './context.ts'
import { lockDataDirectory } from './dataLock.ts'
import { CountryLookup } from './countryLookup.ts'
import { type Keyring, openKeyring, otherKeyProblem } from './keyring.ts'

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
  /** It will serve, so what only servers need has to be right as well. Else a warning says what is wrong. */
  isServer?: boolean
  /** Replaces the store that the configuration names. */
  store?: Store
  /** Replaces the clock that follows the database. */
  clock?: Clock
  /** The clock of this machine, which may be wrong. */
  machineClock?: Clock
  random?: Random
  /** Replaces the cost of new passwords. */
  passwordCost?: PasswordCost
  /** False: what is done periodically is left to who opens it. */
  hasJobs?: boolean
}

/** A machine clock that differs more from the database's gets a warning. */
const WRONG_CLOCK_MS = 2_000

/** The composition root: creates and connects the parts. */
export async function openApp(options: AppOptions): Promise<App> {
  const { config, isServer = false } = options
  // What only reads comes first: a start that must fail writes nothing.
  const countries = countriesOf(options)
  makeDirectory(config.data.dir)
  const unlock = isServer ? lockedDirectory(config.data.dir) : () => undefined
  try {
    return await openIn(options, countries, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/** @param unlock frees the data directory */
async function openIn(options: AppOptions, countries: CountryLookup, unlock: () => void): Promise<App> {
  const { config, log, random = systemRandom } = options
  const keys = keyring(config, random)
  const bus = new Bus<ProcessEvents>()
  const stopTimeout = stopTimeoutOf(log)
  const store = await storeOf(options, bus, stopTimeout)
  try {
    return await openOn(store, { ...options, random }, { countries, unlock, keys, bus, stopTimeout })
  } catch (error) {
    // Its connections would keep a process that cannot start from ending.
    stopTimeout.begin()
    await store.close().catch(() => undefined)
    throw error
  }
}

interface OpenedParts extends Pick<App, 'countries' | 'bus' | 'stopTimeout'> {
  readonly keys: Keyring
  readonly unlock: () => void
}

async function openOn(
  store: Store,
  options: AppOptions & { readonly random: Random },
  { countries, unlock, keys, bus, stopTimeout }: OpenedParts,
): Promise<App> {
  const { config, log, random, passwordCost = PASSWORD_COST } = options
  const holder = new ConfigHolder(config)
  const now = () => holder.current
  const time = await timeOf(store, options)
  const clock = options.clock ?? time.clock
  const ctx = contextOf({
    now,
    keys,
    store,
    clock,
    time,
    random,
    log,
    passwordCost,
    countries,
    channelChanged: (change) => bus.emit('channelChanged', change),
  })
  await prepare(ctx, config)
  await ctx.cache.start()
  const due = new DueLook({ store, changes: ctx.cache, clock, log, node: () => ctx.sessions.node })
  due.start()
  const unfollow = followChanges(ctx, settleSpares)
  await readStaleFeeds(ctx, settleSpares)
  const periodic = [...serviceJobs(ctx, jobSettings(now)), ...followingJobs(time, countries)]
  const jobs = startJobs(ctx, options.hasJobs === false ? [] : periodic)
  const running = [() => Promise.all([jobs.stop(), due.stop()]), unfollow]
  return {
    get config() {
      return holder.current
    },
    holder,
    countries,
    ctx,
    key: keys[0],
    bus,
    due,
    stopTimeout,
    ...streamsOf(clock),
    sign: ctx.sign,
    close: once(() => closeAll(ctx, stopTimeout, running).finally(unlock)),
  }
}

function makeDirectory(dir: string): void {
  try {
    makeFolder(dir)
    // Is it closed to this user? Else the first file that is looked for there would be named, which perhaps does not exist.
    statSync(`${dir}/.`)
  } catch (error) {
    const remedy = 'make it and give it to this user, or choose another one with data.dir or --data'
    const problem = hasCode(error, 'EEXIST') ? 'is not a directory' : fileProblem(error)
    throw new CannotStart(`data.dir: ${dir} ${problem}; ${remedy}`)
  }
}

function lockedDirectory(dir: string): () => void {
  const unlock = lockDataDirectory(dir)
  if (unlock !== null) return unlock
  throw new CannotStart(
    `data.dir: ${dir} is in use by another server; stop it, or choose another directory with data.dir or --data`,
  )
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

/** Checks the key, and makes the first account of a new database. @throws CannotStart when the key is wrong */
async function prepare(ctx: Context, config: Config): Promise<void> {
  const problem = await otherKeyProblem(ctx, config)
  if (problem !== null) throw new CannotStart(problem)
  await ensureAccount(ctx)
}

function countriesOf({ config, log, isServer = false }: AppOptions): CountryLookup {
  const countries = new CountryLookup(log)
  const prepared = countries.prepare(config)
  if (prepared.ok) prepared.value.take()
  else if (isServer) throw new CannotStart(prepared.error)
  else {
    log.warn({}, prepared.error)
    countries.doWithout(prepared.error)
  }
  return countries
}
