import type { App } from './app.ts'
import { isRunning } from '../base/processes.ts'
import { ProcessorLoad } from '../base/processors.ts'
import { VERSION } from '../base/version.ts'
import { ownFacts } from '../commands/nodes/listNodes.ts'
import { startNode } from '../commands/nodes/servingNode.ts'
import { writeLastReadings } from '../commands/streams/lastReadings.ts'
import type { RtmpPorts } from '../core/nodes/drain.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import type { Config } from '../config/schema.ts'
import { sessionJobs } from '../jobs/sessions.ts'
import { startJobs } from '../jobs/timers.ts'
import type { Leases, NodeFacts } from '../store/store.ts'

/** Runs sessions until it is stopped, then ends them all. */
export async function startSessions(app: App, leases: Leases): Promise<{ stop(): Promise<void> }> {
  const { config, ctx } = app
  // Of the time since the last look.
  const load = new ProcessorLoad(undefined, 1)
  load.look()
  const node = await startNode(ctx, {
    hostKey: hostKeyOf(config.data.dir),
    pid: process.pid,
    url: config.server.nodeUrl || null,
    isRunning,
    leaseMs: config.sessions.leaseSeconds * 1000,
    leases,
    facts: () => ({ ...factsOf(load, ctx), ...rtmpPorts(config) }),
  })
  const flushMs = config.sessions.flushSeconds * 1000
  const noViewersMs = () => app.config.sessions.noViewersSeconds * 1000
  const jobs = startJobs(ctx, sessionJobs(ctx, node, { flushMs, noViewersMs }))
  return {
    async stop() {
      await jobs.stop()
      ctx.accountMinutes.sample()
      await node.stop()
      await writeLastReadings(ctx)
    },
  }
}

function factsOf(load: ProcessorLoad, ctx: App['ctx']): Omit<NodeFacts, keyof RtmpPorts> {
  load.look()
  const machine = { cores: load.processors, cpuPercent: load.busyPercent }
  return { version: VERSION, region: ctx.policy.region, ...machine, ...ownFacts(ctx) }
}

/** The port of a listener that took any free one is not said. */
const rtmpPorts = ({ rtmp }: Config): RtmpPorts =>
  rtmp.enabled ? { rtmpPort: rtmp.port || null, rtmpsPort: rtmp.tlsPort } : { rtmpPort: 0, rtmpsPort: 0 }
