import { endLentOn, endOrphanedLinks } from '../commands/nodes/lendStream.ts'
import { endForbidden } from '../commands/regions/endForbidden.ts'
import type { Context } from '../commands/context.ts'
import { recheckAll } from '../commands/sessions/revoke.ts'
import type { Config } from '../config/schema.ts'
import { startJobs } from '../jobs/timers.ts'
import type { MediaEngine } from '../media/engine.ts'
import { postToNode } from '../net/nodeFetch.ts'
import { Cascade, type CascadeParts } from '../services/cascade.ts'
import { LentRooms } from '../services/lentRooms.ts'
import { OtherNodes } from '../services/otherNodes.ts'
import { nodeKeysOf } from './derivedKeys.ts'
import type { Keyring } from './keyring.ts'

const LOOK_MS = 1000
const LEASES_MS = 5000

/** What brings streams from other nodes, lends them to those, and sends clients there. Streams come and go from `startCascade` on. */
export function cascadeOf(
  parts: Pick<Context, 'clock' | 'random' | 'log' | 'sessions' | 'cache' | 'store'>,
  keyring: Keyring,
  now: () => Config,
): Pick<Context, 'otherNodes' | 'cascade' | 'lentRooms' | 'nodeKeys'> {
  const nodeKeys = nodeKeysOf(keyring)
  const cascade = new Cascade({
    ...parts,
    keys: nodeKeys,
    region: now().server.region,
    silentMs: () => parts.cache.silentMs(),
    forwardStaleMs: () => now().access.forwardStaleSeconds * 1000,
  })
  const { clock, store, sessions } = parts
  const otherNodes = new OtherNodes(clock, store, sessions)
  return { otherNodes, nodeKeys, cascade, lentRooms: new LentRooms(clock) }
}

/**
 * Lets viewers of this node watch streams at others, and those of others streams here, if this node is told to.
 * @param ask replaces requests over the network
 */
export function startCascade(
  { config, ctx }: { readonly config: Config; readonly ctx: Context },
  { links }: Pick<MediaEngine, 'links'>,
  ask: CascadeParts['ask'] = postToNode(ctx.clock),
): { stop(): Promise<void> } {
  const { handover, nodeUrl } = config.server
  if (links === undefined || handover !== 'cascade' || nodeUrl === '') return { stop: async () => undefined }
  ctx.lentRooms.links = links
  ctx.cascade.start({ links, recheck: () => recheckAll(ctx), ask })
  const jobs = startJobs(ctx, [
    {
      name: 'follow streams at other nodes',
      everyMs: LOOK_MS,
      async run() {
        ctx.cascade.tick()
        endLentOn(ctx)
        endForbidden(ctx)
      },
    },
    { name: 'end links of nodes that are gone', everyMs: LEASES_MS, run: () => endOrphanedLinks(ctx) },
  ])
  return {
    async stop() {
      ctx.cascade.stop()
      await jobs.stop()
    },
  }
}
