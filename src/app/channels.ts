import { availableParallelism } from 'node:os'
import type { App } from './app.ts'
import { timeOrderedId } from '../base/ids.ts'
import { isRunning, pidAt, processKey } from '../base/processes.ts'
import { ProcessorLoad } from '../base/processors.ts'
import { EncodingLoad } from '../services/encodingLoad.ts'
import type { ChannelGauges } from '../commands/channels/runs/gauges.ts'
import { EngineSupervisor } from '../commands/channels/runs/engineSupervisor.ts'
import { Measured } from '../services/measured.ts'
import { PushedKeys } from '../services/pushedKeys.ts'
import { channelsDir, hostKeyOf } from '../config/places.ts'
import { reachSources } from '../net/reach.ts'
import { schedulerJob } from '../jobs/schedulers.ts'
import { startJobs } from '../jobs/timers.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { PushSources } from '../media/transcoder/sources.ts'
import { createTranscoder } from '../media/transcoder/transcoder.ts'
import type { Leases } from '../store/store.ts'

/** Longer than any pause of a healthy server; engines of another node are taken over after it. */
const ENGINE_LEASE_MS = 15_000

export interface Channels {
  readonly sources: PushSources
  readonly pushed: PushedKeys
  readonly measured: Measured
  readonly load: EncodingLoad
  /** What is to be seen now. */
  readonly gauges: () => ChannelGauges
  /** Where an engine writes. */
  readonly folderOf: (engineId: string) => string
  stop(): Promise<void>
}

/** Runs the engines of channels until it is stopped; those that are wanted come back with the next server. */
export async function startChannels(app: App, ffmpeg: Ffmpeg, leases: Leases): Promise<Channels> {
  const { ctx, bus, config } = app
  const sources = new PushSources()
  const pushed = new PushedKeys(ctx)
  const reach = reachSources({ ...ctx, allowPrivate: config.channels.allowPrivateSources })
  const place = hostKeyOf(config.data.dir)
  const measured = new Measured(ctx, processKey(place, process.pid, timeOrderedId(ctx.clock.now(), ctx.random)))
  const folder = channelsDir(config)
  const processors = new ProcessorLoad()
  const stepsDown = config.channels.stepDownOnOverload
  const load = new EncodingLoad({ cores: availableParallelism(), processors, stepsDown })
  const transcoder = createTranscoder({ ...ctx, ffmpeg, sources, reach, meter: measured, load, folder })
  await transcoder.start()
  const keeper = new EngineSupervisor(ctx, {
    transcoder,
    load,
    node: measured.node,
    isGone: (node) => isGone(node, place),
    leaseMs: ENGINE_LEASE_MS,
    leases,
  })
  const unfollow = bus.on('channelChanged', (change) => {
    if (change.kind === 'ingest' && change.what !== 'updated')
      void sources.cut(change.id, 'This stream key is no longer valid')
    void keeper.reconcile()
  })
  const jobs = startJobs(ctx.clock, ctx.log, [
    { name: 'tend engines', everyMs: 1000, run: () => keeper.reconcile() },
    { name: 'look at the processors', everyMs: 1000, run: async () => processors.look() },
    schedulerJob(ctx),
    { name: 'look at stream keys', everyMs: 500, run: () => pushed.look() },
  ])
  void keeper.reconcile()
  return {
    sources,
    pushed,
    measured,
    load,
    gauges: () => ({
      census: keeper.census,
      paces: load.paces(),
      droppedFrames: load.droppedFrames,
      ingests: measured.connectedIngests,
      ffmpeg: { running: ffmpeg.running, most: config.ffmpeg.maxProcesses },
      viewers: measured.viewers.total,
    }),
    folderOf: (engineId) => transcoder.folderOf(engineId),
    async stop() {
      unfollow()
      await jobs.stop()
      await keeper.stop()
      await transcoder.stop()
    },
  }
}

/** Of this data directory, which has one server at a time: what is not this process is gone when its process is. */
function isGone(node: string, place: string): boolean {
  const pid = pidAt(place, node)
  return pid !== null && pid !== process.pid && !isRunning(pid)
}
