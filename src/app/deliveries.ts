import { type App, CannotStart } from './app.ts'
import { allInTurn } from '../base/allEnded.ts'
import { timeOrderedId } from '../base/ids.ts'
import { err, ok, type Result } from '../base/result.ts'
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
  const opened = openEgress(config)
  if (!opened.ok) throw new CannotStart(opened.error)
  const egress = opened.value
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

/** The error is a sentence for the operator. */
export function openEgress({ webhooks: { allowPrivateTargets, caFile } }: Config): Result<Egress, string> {
  try {
    return ok(createEgress({ allowPrivateTargets, ...(caFile === '' ? {} : { caFile }) }))
  } catch (error) {
    return err(`webhooks.caFile: ${caFile} cannot be read as certificates: ${(error as Error).message}`)
  }
}
