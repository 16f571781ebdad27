import { type App, CannotStart } from './app.ts'
import { allInTurn } from '../base/allEnded.ts'
import { timeOrderedId } from '../base/ids.ts'
import { VERSION } from '../base/version.ts'
import { openWebhookSecret } from '../commands/webhooks/webhooks.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import { createEgress, type Egress } from '../net/egress.ts'
import { createRunner } from '../delivery/runner.ts'
import { headerProfile } from '../delivery/signature.ts'
import type { Leases } from '../store/store.ts'

/**
 * Delivers events to webhooks until it is stopped. Only a server does this; the command line leaves it to one.
 * @param drainMs how long the stop waits for deliveries in progress
 */
export async function runDeliveries(
  app: App,
  leases: Leases,
  drainMs: () => number,
): Promise<{ stop(): Promise<void> }> {
  const { config, ctx, bus, due } = app
  const egress = openEgress(config)
  const runner = createRunner({
    ...ctx,
    due,
    ended: ctx.deliveries,
    attempts: ctx.sampled.deliveries,
    egress,
    profile: headerProfile(config.webhooks.headerPrefix),
    userAgent: `Sluice/${VERSION}`,
    openSecret: (secretSealed) => openWebhookSecret(ctx, { secretSealed }),
    nodeId: timeOrderedId(ctx.clock.now(), ctx.random),
    leases,
    limits: liveView(() => limitsOf(app.config)),
    drainMs,
  })
  const unfollow = bus.on('toDeliver', () => runner.wake())
  await runner.start()
  return {
    stop() {
      unfollow()
      return allInTurn([() => runner.stop(), () => egress.close()])
    },
  }
}

const limitsOf = ({ webhooks }: Config) => ({ perWebhook: webhooks.inFlightPerWebhook, total: webhooks.inFlight })

function openEgress({ webhooks: { allowPrivateTargets, caFile } }: Config): Egress {
  try {
    return createEgress({ allowPrivateTargets, ...(caFile === '' ? {} : { caFile }) })
  } catch (error) {
    throw new CannotStart(`webhooks.caFile: ${caFile} cannot be read as certificates: ${(error as Error).message}`)
  }
}
