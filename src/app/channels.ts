import type { App } from './app.ts'
import type { Encoders } from './encoders.ts'
import { allInTurn } from '../base/allEnded.ts'
import { inTime } from '../base/clock.ts'
import { timeOrderedId } from '../base/ids.ts'
import { isRunning, pidAt, processKey } from '../base/processes.ts'
import type { EncodingLoad } from '../services/encodingLoad.ts'
import type { ChannelGauges } from '../services/channelGauges.ts'
import { claimIngests, releaseIngests } from '../commands/channels/runs/ingestClaims.ts'
import { engineRecords } from '../commands/channels/runs/engineRecords.ts'
import { putSchedulersRight, runSchedulers } from '../commands/channels/schedules/occurrences.ts'
import { loadSlate } from '../commands/channels/slates.ts'
import { type EngineRecords, EngineSupervisor } from '../services/engineSupervisor.ts'
import { Measured } from '../services/measured.ts'
import { PushedKeys } from '../services/pushedKeys.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import { channelsDir } from '../config/paths.ts'
import type { Engine } from '../core/channels/types.ts'
import { startJobs } from '../jobs/timers.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import type { DialSource } from '../media/pulling.ts'
import { PushSources, REPLACED } from '../media/transcoder/sources.ts'
import { EngineOutputs } from '../media/transcoder/engineOutput.ts'
import { createTranscoder } from '../media/transcoder/transcoder.ts'
import type { Leases } from '../store/store.ts'

/** Longer than any pause of a healthy server. After it another node takes over the engines. */
const ENGINE_LEASE_MS = 15_000
/** A start of the server waits no longer for very many engines. */
const BEGIN_MAX_MS = 2_000

export interface ChannelTools {
  readonly ffmpeg: Ffmpeg
  readonly leases: Leases
  readonly encoders: Encoders
  readonly dial: DialSource
}

export interface Channels {
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
  /** What the engines of this node make, for other servers. */
  readonly outputs: EngineOutputs
  /** Hears what the store says of engines that run, each second and when one has changed. */
  readonly onEngines: (listener: (engines: readonly (Engine | undefined)[]) => void) => void
  readonly load: EncodingLoad
  /** The current values for metrics. */
  readonly gauges: () => ChannelGauges
  /** A viewer of an engine requests a playlist; see `FfmpegTranscoder`. */
  readonly viewed: (engineId: string, slateId: string | null) => void
  stop(): Promise<void>
}

/** Runs the engines of channels until it is stopped; the next server restarts those that should run. */
export async function startChannels(app: App, { ffmpeg, leases, encoders, dial }: ChannelTools): Promise<Channels> {
  const { ctx, bus, config, channelStreams: streams } = app
  const sources = new PushSources(ctx.log)
  const pushed = new PushedKeys(ctx)
  const hostKey = hostKeyOf(config.data.dir)
  const measured = new Measured(ctx, processKey(hostKey, process.pid, timeOrderedId(ctx.clock.now(), ctx.random)))
  const folder = channelsDir(config)
  const { load, processors } = encoders
  const outputs = new EngineOutputs(ctx)
  const parts = { ...ctx, outputs, ffmpeg, sources, dial, meter: measured, load, folder, streams }
  const transcoder = createTranscoder({ ...parts, loadSlate: (of) => loadSlate(ctx, of) })
  await transcoder.start()
  const at = { node: measured.node, leaseMs: ENGINE_LEASE_MS, isGone: (node: string) => isGone(node, hostKey) }
  const { records, onEngines } = heardRecords(engineRecords(ctx, at))
  const takes = () => ctx.sessions.drain === null
  const supervisor = new EngineSupervisor({ ...at, records, transcoder, load, leases, takes, log: ctx.log })
  const unfollow = bus.on('channelChanged', (change) => {
    if (change.kind === 'ingest' && change.what !== 'updated')
      void sources.cut(change.id, 'This stream key is no longer valid')
    void supervisor.reconcile()
  })
  const claim = async () => {
    for (const one of await claimIngests(ctx, at.node, pushed.newest())) pushed.cut(one, REPLACED)
  }
  const jobs = startJobs(ctx, [
    { name: 'measure the processors', everyMs: 1000, run: async () => processors.look() },
    { name: 'check stream keys', everyMs: 500, run: () => pushed.look() },
    { name: 'claim ingests', everyMs: 500, run: claim },
    { name: 'put schedulers right after the clock', everyMs: 60_000, run: () => putSchedulersRight(ctx) },
  ])
  const working = [
    app.due.on('engines', () => supervisor.reconcile()),
    app.due.on('schedulers', () => runSchedulers(ctx)),
  ]
  await inTime(ctx.clock, BEGIN_MAX_MS, begin(supervisor))
  return {
    sources,
    pushed,
    measured,
    outputs,
    onEngines,
    load,
    gauges: () => ({
      census: supervisor.census,
      paces: load.paces(),
      droppedFrames: load.droppedFrames,
      ingests: measured.connectedIngests,
      ffmpeg: { running: ffmpeg.running, most: app.config.ffmpeg.maxProcesses },
      viewers: measured.viewers.total,
    }),
    viewed: (engineId, slateId) => transcoder.viewed(engineId, slateId),
    stop() {
      unfollow()
      return allInTurn([
        () => jobs.stop(),
        () => Promise.all(working.map((one) => one.stop())),
        () => releaseIngests(ctx, at.node),
        () => supervisor.stop(),
        () => transcoder.stop(),
      ])
    },
  }
}

/**
 * Takes the engines of the server before, and starts them. Their players are back as soon as this server listens, and would
 * get a 404 until then.
 */
async function begin(supervisor: EngineSupervisor): Promise<void> {
  await supervisor.reconcile()
  await supervisor.reconcile()
}

/** The records of engines, which say to a listener what they have read. */
function heardRecords(stored: EngineRecords): { records: EngineRecords } & Pick<Channels, 'onEngines'> {
  let heard: Parameters<Channels['onEngines']>[0] = () => undefined
  const busy: EngineRecords['busy'] = async () => {
    const found = await stored.busy()
    heard(found.map(({ engine }) => engine))
    return found
  }
  const onEngines: Channels['onEngines'] = (listener) => {
    heard = listener
  }
  return { records: { ...stored, busy }, onEngines }
}

/** True for a node of this data directory whose process has ended; the directory has one server at a time. */
function isGone(node: string, hostKey: string): boolean {
  const pid = pidAt(hostKey, node)
  return pid !== null && pid !== process.pid && !isRunning(pid)
}
