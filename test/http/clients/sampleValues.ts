import { timeOrderedId } from '../../../src/base/ids.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Store } from '../../../src/store/store.ts'
import { newRecording } from '../../conformance/store.recordings.ts'
import { newSession } from '../../conformance/store.samples.ts'

interface Account {
  readonly store: Pick<Store, 'transaction'>
  readonly accountId: string
  /** The URL of a server that takes events. */
  readonly receiver: string
  /** Makes a webhook with this URL; returns its id. */
  readonly makeWebhook: (url: string) => Promise<number>
}

/** What the calls need that no call makes: a session, a recording, and a webhook with a delivery that was skipped. */
export async function sampleValues({ store, accountId, receiver, makeWebhook }: Account) {
  await store.transaction((tx) => tx.sessions.insert(newSession({ accountId }), 'another node'))
  await store.transaction((tx) => tx.recordings.insert(newRecording({ accountId, state: 'completed' })))
  const webhookId = await makeWebhook(receiver)
  const id = timeOrderedId(Date.now(), systemRandom)
  const event = { type: 'feeds', event: 'started', subject: 'show', data: '{}', createdAtMs: Date.now() }
  const row = {
    id,
    eventId: id,
    webhookId,
    accountId,
    ...event,
    state: 'skipped' as const,
    error: { message: 'paused' },
  }
  await store.transaction((tx) => tx.deliveries.insert([row]))
  return { receiver, stream: `${accountId}/show`, logged: webhookId }
}
