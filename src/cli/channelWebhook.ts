import { err, ok } from '../base/result.ts'
import { listWebhookLogs } from '../commands/channels/webhooks/logs.ts'
import { redeliverChannelEvent, testChannelWebhook } from '../commands/channels/webhooks/sends.ts'
import { listChannelWebhooks, rotateChannelWebhookSecret } from '../commands/channels/webhooks/webhooks.ts'
import type { ChannelWebhookRecord, LogEntry } from '../core/channels/webhooks/schema.ts'
import { command } from './command.ts'
import { given, mostEntries, required, textFlag } from './flag.ts'
import { CSV_FLAG, type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { fromChannelFailure } from './refusal.ts'
import { withAccount } from './session.ts'

const WEBHOOK_ID = required('ID', 'The id of the webhook, as `sluice channel-webhook list` shows it.')
const EXAMPLE = 'wh_1BvTL3PCGW4dXdKwCqFkRe'

const list = command({
  path: ['channel-webhook', 'list'],
  summary: 'List channel webhooks, newest first',
  flags: CSV_FLAG,
  examples: ['sluice channel-webhook list', 'sluice channel-webhook list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, reader }) => {
      const found = await collectPages((page) => listChannelWebhooks(ctx, reader, page), {}, 1000)
      if (!found.ok) return err(fromChannelFailure(found.error))
      return ok({ json: found.value, text: listing(COLUMNS, found.value) })
    }),
})

const COLUMNS: Columns<ChannelWebhookRecord> = {
  id: ['key', ({ id }) => id],
  state: ['text', (webhook) => stateOf(webhook)],
  name: ['text', ({ name }) => name],
  url: ['text', ({ url }) => url],
  events: ['text', ({ events }) => events.join(', ')],
}

function stateOf({ active, disabled }: ChannelWebhookRecord): string {
  if (!active) return 'inactive'
  return disabled === undefined ? 'active' : `paused until ${disabled.until}`
}

const log = command({
  path: ['channel-webhook', 'log'],
  summary: 'Show the sent and skipped events of a channel webhook, newest first',
  args: { id: WEBHOOK_ID },
  flags: { limit: mostEntries(20, 100_000), ...WATCH_FLAGS },
  examples: [`sluice channel-webhook log ${EXAMPLE}`, 'sluice channel-webhook log $WEBHOOK --limit 100 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { id } = call.args
      const found = await collectPages((page) => listWebhookLogs(ctx, accountId, id, page), {}, call.flags.limit)
      if (!found.ok) return err(fromChannelFailure(found.error))
      return ok({ json: found.value, text: listing(LOG_COLUMNS, found.value) })
    }),
})

const LOG_COLUMNS: Columns<LogEntry> = {
  id: ['key', ({ id }) => id],
  time: ['time', ({ timestamp }) => timestamp],
  event: ['text', ({ type }) => type],
  attempt: ['text', ({ attempt, redeliveryOf }) => (redeliveryOf === undefined ? attempt : 'again')],
  state: ['text', ({ state }) => state],
  status: ['text', ({ statusCode }) => statusCode],
  ms: ['text', ({ durationMs }) => durationMs],
  error: ['text', ({ error }) => error],
}

const test = command({
  path: ['channel-webhook', 'test'],
  summary: 'Send an example event to a channel webhook and print the id of its log entry',
  detail: 'A running server sends it once, even while the webhook is paused or inactive.',
  args: { id: WEBHOOK_ID },
  flags: { type: textFlag('EVENT', 'The event; if omitted, the first event of the webhook.') },
  examples: [`sluice channel-webhook test ${EXAMPLE}`, 'sluice channel-webhook test $WEBHOOK --type engine.error'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const sent = await testChannelWebhook(ctx, actor, call.args.id, given({ type: call.flags.type }))
      return sent.ok ? ok({ json: sent.value, text: sent.value.id }) : err(fromChannelFailure(sent.error))
    }),
})

const redeliver = command({
  path: ['channel-webhook', 'redeliver'],
  summary: 'Resend an event from the log of a channel webhook and print the id of its log entry',
  detail: 'A running server sends the same body with the same event id, once.',
  args: { id: WEBHOOK_ID, log: required('LOG', 'The id of the log entry, from `sluice channel-webhook log`.') },
  examples: [
    `sluice channel-webhook redeliver ${EXAMPLE} lg_1BvTL3PCGW4dXdKwCqFkRf`,
    'sluice channel-webhook redeliver $WEBHOOK $LOG --json',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const sent = await redeliverChannelEvent(ctx, actor, call.args.id, call.args.log)
      return sent.ok ? ok({ json: sent.value, text: sent.value.id }) : err(fromChannelFailure(sent.error))
    }),
})

const rotate = command({
  path: ['channel-webhook', 'rotate-secret'],
  summary: 'Replace the signing secret of a channel webhook and print only the new one',
  detail: 'The new secret applies at once. Deliveries that are already signed keep their signature.',
  args: { id: WEBHOOK_ID },
  examples: [
    `sluice channel-webhook rotate-secret ${EXAMPLE}`,
    'SECRET=$(sluice channel-webhook rotate-secret $WEBHOOK)',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const made = await rotateChannelWebhookSecret(ctx, actor, call.args.id)
      return made.ok ? ok({ json: made.value, text: made.value.secret }) : err(fromChannelFailure(made.error))
    }),
})

export const channelWebhookCommands = [list, log, test, redeliver, rotate]
