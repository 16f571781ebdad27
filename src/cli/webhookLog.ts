import { ok } from '../base/result.ts'
import { type DeliveryEntry, redeliver, recentDeliveries } from '../commands/webhooks/deliveries.ts'
import { command } from './command.ts'
import { id, mostEntries, required } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { withAccount } from './session.ts'

export const WEBHOOK_ID = id('ID', 'The id of the webhook, as `sluice webhook list` shows it.')

export const deliveriesCommand = command({
  path: ['webhook', 'deliveries'],
  summary: 'Show the deliveries to a webhook, newest first',
  args: { id: WEBHOOK_ID },
  flags: { limit: mostEntries(20, 1000), ...WATCH_FLAGS },
  examples: ['sluice webhook deliveries 1', 'sluice webhook deliveries 1 --limit 100 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await recentDeliveries(ctx, accountId, call.args.id, call.flags.limit)
      return found.ok ? ok({ json: found.value, text: listing(COLUMNS, found.value) }) : found
    }),
})

const COLUMNS: Columns<DeliveryEntry> = {
  id: ['key', ({ id: deliveryId }) => deliveryId],
  made: ['time', ({ createdOn }) => createdOn],
  event: ['text', ({ type, event }) => `${type} ${event}`],
  about: ['text', ({ subject }) => subject],
  state: ['text', ({ state, redeliveryOf }) => (redeliveryOf === undefined ? state : `${state} (again)`)],
  status: ['text', ({ statusCode }) => statusCode],
  ms: ['text', ({ durationMs }) => durationMs],
  error: ['text', ({ error }) => error],
}

export const redeliverCommand = command({
  path: ['webhook', 'redeliver'],
  summary: 'Resend an event: the same bytes with the same webhook-id',
  detail: 'A running server sends it. The command prints the id of the new delivery.',
  args: { id: WEBHOOK_ID, delivery: required('DELIVERY', 'The id of the delivery, from `sluice webhook deliveries`.') },
  examples: [
    'sluice webhook redeliver 1 1Cv2nDq8PzUeZ5oYyZ3kQw',
    'sluice webhook redeliver 1 1Cv2nDq8PzUeZ5oYyZ3kQw --json',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await redeliver(ctx, actor, call.args.id, call.args.delivery)
      return made.ok ? ok({ json: made.value, text: made.value.id }) : made
    }),
})
