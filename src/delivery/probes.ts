import { timeOrderedId } from '../base/ids.ts'
import type { Random } from '../base/random.ts'
import { isPaused } from '../core/webhooks/route.ts'
import { isProbeDue } from '../core/channels/webhooks/health.ts'
import type { Store } from '../store/store.ts'

const AT_ONCE = 100

/**
 * Provides each paused webhook whose probe is due with an event for it: one that waits, or else the newest event
 * that the webhook missed. `begin` sends it. Returns whether there may be something to start.
 */
export async function offerProbes(store: Store, nowMs: number, random: Random): Promise<boolean> {
  const due = await store.read.channelWebhooks.probesDue({ nowMs, limit: AT_ONCE })
  for (const webhookId of due) {
    await store.transaction(async (tx) => {
      const [webhook] = await tx.webhooks.lockAll([webhookId])
      if (!webhook?.active || !isPaused(webhook, nowMs) || !isProbeDue(webhook.probedAtMs, nowMs)) return
      await tx.deliveries.offerProbe({ webhookId, id: timeOrderedId(nowMs, random), atMs: nowMs })
    })
  }
  return due.length > 0
}
