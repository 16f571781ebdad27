import type { Context } from '../commands/context.ts'
import { writeAudience } from '../commands/audience/writeHours.ts'
import type { ServingNode } from '../commands/nodes/servingNode.ts'
import { endStalePreviews } from '../commands/sessions/previews.ts'
import { endExpired } from '../commands/sessions/revoke.ts'
import { LOOK_MS, SpareWatch } from '../commands/sessions/spares.ts'
import { emitIdleStreams } from '../commands/sessions/viewing.ts'
import { SAMPLE_MS } from '../core/streams/health.ts'
import type { PeriodicJob } from './timers.ts'

const SWEEP_MS = 5_000
const CHECK_MS = 60_000
/** Sessions end within a second of the expiry. */
const EXPIRY_MS = 250
const PREVIEWS_MS = 3_000
/** `core/nodes/load.ts` takes a gap of two seconds for a pause of this process. */
const SENT_MS = 1_000
const REPORT_MS = 5_000
const MINUTES_MS = 10_000
const FACTS_MS = 10_000
const AUDIENCE_MS = 60_000

export interface SessionJobOptions {
  flushMs: number
  /** Read at each run. */
  noViewersMs: () => number
}

/** The periodic jobs of a process that holds sessions. */
export const sessionJobs = (
  ctx: Context,
  node: ServingNode,
  { flushMs, noViewersMs }: SessionJobOptions,
  spares: SpareWatch = new SpareWatch(ctx),
): PeriodicJob[] => [
  { name: 'write bytes', everyMs: flushMs, run: () => node.count(flushMs) },
  { name: 'read changes of other nodes', everyMs: flushMs, run: () => node.reconcile() },
  { name: 'read all feeds of other nodes', everyMs: CHECK_MS, run: () => node.check() },
  { name: 'end sessions of expired tokens', everyMs: EXPIRY_MS, run: async () => endExpired(ctx) },
  { name: 'watch publishers with spares', everyMs: LOOK_MS, run: () => spares.look() },
  { name: 'end previews of users who signed out', everyMs: PREVIEWS_MS, run: () => endStalePreviews(ctx) },
  { name: 'measure what is sent', everyMs: SENT_MS, run: async () => ctx.nodeLoad.sample() },
  { name: 'measure streams', everyMs: SAMPLE_MS, run: async () => sampleStreams(ctx) },
  { name: 'write readings of streams', everyMs: REPORT_MS, run: () => ctx.streamMeter.write(ctx.store) },
  { name: 'write viewers and bytes by minute', everyMs: MINUTES_MS, run: () => ctx.accountMinutes.write(ctx.store) },
  { name: 'write usage of restreams', everyMs: REPORT_MS, run: () => ctx.restreamUsage.write(ctx.store) },
  { name: 'write reports of players', everyMs: REPORT_MS, run: () => ctx.playerReports.write(ctx.store) },
  { name: 'write the audience of past hours', everyMs: AUDIENCE_MS, run: () => node.forAll(() => writeAudience(ctx)) },
  { name: 'report the load of this node', everyMs: FACTS_MS, run: () => node.report() },
  { name: 'clean up after dead processes', everyMs: SWEEP_MS, run: () => node.sweep() },
  {
    name: 'emit streams without viewers',
    everyMs: Math.min(noViewersMs(), SWEEP_MS),
    run: () => node.forAll(() => emitIdleStreams(ctx, noViewersMs())),
  },
]

function sampleStreams({ streamMeter, accountMinutes }: Context): void {
  streamMeter.sample()
  accountMinutes.sample()
}
