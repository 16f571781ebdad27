import { err, ok, type Result } from '../base/result.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  readWebhook,
  updateWebhook,
} from '../commands/webhooks/webhooks.ts'
import { testWebhooks } from '../commands/webhooks/testWebhook.ts'
import { TEST_TYPES } from '../core/webhooks/examples.ts'
import type { WebhookRecord } from '../core/webhooks/schema.ts'
import { type CommandAnswer, command } from './command.ts'
import { given, required, requiredChoice, textFlag, toggleFlag } from './flag.ts'
import { CSV_FLAG, type Columns, listing } from './listing.ts'
import { details } from './print.ts'
import { usage } from './refusal.ts'
import { withAccount } from './session.ts'
import { EVENTS_FLAG, eventsOf, switchesFor } from './webhookEvents.ts'
import { deliveriesCommand, redeliverCommand, WEBHOOK_ID } from './webhookLog.ts'

const FILTER_ABOUT = 'Only streams (or transcoders) whose whole name matches this RE2 pattern'

const create = command({
  path: ['webhook', 'create'],
  summary: 'Create a webhook and print only its secret',
  detail: 'Its id goes to standard error; --json prints the whole record.',
  flags: {
    url: required('URL', 'The target of events: https, to a public address.'),
    event: EVENTS_FLAG,
    filter: textFlag('PATTERN', `${FILTER_ABOUT}.`),
  },
  examples: [
    'sluice webhook create --url https://hooks.example.com/sluice --event feeds --event recording',
    "SECRET=$(sluice webhook create --url https://hooks.example.com/prod --event feeds --filter 'prod-.*')",
  ],
  run: async (call) => {
    const switches = switchesFor(call.flags.event)
    if (!switches.ok) return switches
    const { url, filter } = call.flags
    return withAccount(call, async ({ ctx, actor }) => {
      const body = { url, ...switches.value, ...given({ filter }) }
      const made = await createWebhook(ctx, actor, body)
      if (!made.ok) return made
      return ok({ json: made.value, text: made.value.secret, note: `The id of this webhook is ${made.value.id}.` })
    })
  },
})

/** Far above the number that an account may have. */
const PAGES_MAX = 100
const ITEMS_ON_PAGE = 100

const list = command({
  path: ['webhook', 'list'],
  summary: 'List webhooks; their secrets are only in --json',
  flags: CSV_FLAG,
  examples: ['sluice webhook list', 'sluice webhook list --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const all: WebhookRecord[] = []
      for (let page = 0; page < PAGES_MAX; page++) {
        const startingId = String((all.at(-1)?.id ?? 0) + 1)
        const found = await listWebhooks(ctx, accountId, { startingId, itemCount: String(ITEMS_ON_PAGE) })
        if (!found.ok) return found
        all.push(...found.value)
        if (found.value.length < ITEMS_ON_PAGE) break
      }
      return ok({ json: all, text: listing(COLUMNS, all) })
    }),
})

const COLUMNS: Columns<WebhookRecord> = {
  id: ['key', ({ id }) => id],
  url: ['text', ({ url }) => url],
  events: ['text', (webhook) => eventsOf(webhook).join(', ') || 'none'],
  filter: ['text', ({ filter }) => filter],
  'failed in a row': ['text', ({ failuresInRow }) => failuresInRow],
  'paused until': ['time', ({ disabled }) => disabled?.until],
}

const answerOf = (webhook: WebhookRecord): CommandAnswer => ({ json: webhook, text: details(webhook) })
const answered = <E>(found: Result<WebhookRecord, E>): Result<CommandAnswer, E> =>
  found.ok ? ok(answerOf(found.value)) : found

const show = command({
  path: ['webhook', 'show'],
  summary: 'Show one webhook with its secret',
  args: { id: WEBHOOK_ID },
  examples: ['sluice webhook show 1', 'sluice webhook show 1 --json | jq -r .secret'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => answered(await readWebhook(ctx, accountId, call.args.id))),
})

const update = command({
  path: ['webhook', 'update'],
  summary: 'Change a webhook and show it',
  detail: 'Omitted settings stay as they are.',
  args: { id: WEBHOOK_ID },
  flags: {
    url: textFlag('URL', 'The new target; this also ends a pause.'),
    event: EVENTS_FLAG,
    filter: textFlag('PATTERN', `${FILTER_ABOUT}; an empty one removes the filter.`),
    'refresh-secret': toggleFlag('Create a new secret, which applies at once.'),
    're-enable': toggleFlag('End a pause after failures.'),
  },
  examples: ['sluice webhook update 1 --refresh-secret', 'sluice webhook update 1 --event feeds --event transcoder'],
  run: async (call) => {
    const { url, event, filter, 'refresh-secret': refreshSecret, 're-enable': reEnable } = call.flags
    const switches = event.length === 0 ? ok({}) : switchesFor(event)
    if (!switches.ok) return switches
    const body = {
      ...switches.value,
      ...given({ url }),
      ...(filter === undefined ? {} : { filter: filter === '' ? null : filter }),
      ...(refreshSecret ? { refreshSecret } : {}),
      ...(reEnable ? { reEnable } : {}),
    }
    if (Object.keys(body).length === 0) return err(usage('there is nothing to change'))
    return withAccount(call, async ({ ctx, actor }) => answered(await updateWebhook(ctx, actor, call.args.id, body)))
  },
})

const remove = command({
  path: ['webhook', 'delete'],
  summary: 'Delete a webhook and its waiting deliveries',
  args: { id: WEBHOOK_ID },
  examples: ['sluice webhook delete 1', 'sluice webhook delete 1 --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await deleteWebhook(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `Webhook ${call.args.id} was deleted.` }) : done
    }),
})

const test = command({
  path: ['webhook', 'test'],
  summary: 'Send an example event to every webhook of its type',
  detail: 'A running server sends it. `sluice webhook deliveries` shows the result.',
  flags: {
    type: requiredChoice(TEST_TYPES, 'The type of the event.'),
    stream: textFlag('NAME', 'The stream in the event.'),
    transcoder: textFlag('NAME', 'The transcoder in the event.'),
  },
  examples: ['sluice webhook test --type Feeds', 'sluice webhook test --type Recordings --stream prod-7'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const { type, stream: streamName, transcoder: transcoderName } = call.flags
      const done = await testWebhooks(ctx, actor, type, given({ streamName, transcoderName }))
      return done.ok ? ok({ json: true, text: '', hint: 'A running server will send the event.' }) : done
    }),
})

export const webhookCommands = [create, list, show, update, remove, test, deliveriesCommand, redeliverCommand]
