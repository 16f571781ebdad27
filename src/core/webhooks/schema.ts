import { type Static, type TSchema, Type } from 'typebox'
import { CodedSentence } from '../notices.ts'
import { flag, orNull } from '../tokens/schemaParts.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { WEBHOOK_SWITCHES, type WebhookFlag } from './kinds.ts'
import { URL_MAX } from '../validation/outboundUrl.ts'
import { WEBHOOK_LIMITS } from './types.ts'
import { closed } from '../validation/closed.ts'

/**
 * The bodies and the record of the webhook API, in one place: the routes publish them and `rules.ts` checks bodies
 * against them.
 */

const url = () =>
  Type.String({
    minLength: 1,
    maxLength: URL_MAX,
    description: 'Where events are sent: https, to a public address.',
    examples: ['https://hooks.example.com/sluice'],
  })
const pattern = () =>
  Type.String({ minLength: 1, maxLength: WEBHOOK_LIMITS.filterMax, examples: ['studio-[0-9]+', 'prod-.*'] })

function flags<T extends TSchema>(make: (description: string) => T): Record<WebhookFlag, T> {
  return Object.fromEntries(WEBHOOK_SWITCHES.map(({ flag, about }) => [flag, make(about)])) as Record<WebhookFlag, T>
}

/** Of the record of a webhook. */
export const failuresInRow = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

const FILTER_TEXT =
  'RE2 pattern that must match the whole stream name, or for transcoder events the transcoder name. Absent: everything.'

const common = {
  ...flags(flag),
  isClipHooks: notBuilt('clips are not made'),
  filter: Type.Optional(orNull(pattern(), FILTER_TEXT)),
}

export const CreateWebhook = Type.Object(
  { url: url(), ...common },
  { $id: 'CreateWebhook', ...closed, description: 'A webhook to make. Switches default to false.' },
)

export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(orNull(url(), 'Another target; this also ends a pause.')),
    ...common,
    refreshSecret: flag('true: another secret, which counts at once.'),
    reEnable: flag('true: ends a pause that failures have caused.'),
  },
  { $id: 'UpdateWebhook', ...closed, description: 'What to change. `filter: null` removes the filter.' },
)

export const WebhookRecord = Type.Object(
  {
    id: Type.Integer(),
    url: url(),
    secret: Type.String({ format: 'password', description: 'base64; its bytes are the key of the signatures.' }),
    ...flags((description) => Type.Boolean({ description })),
    isClipHooks: Type.Unsafe<false>({ const: false, description: 'Not built; always this value.' }),
    filter: Type.Optional(Type.String({ description: FILTER_TEXT })),
    failuresInRow: failuresInRow('How many deliveries failed since the last that arrived. Absent: none.'),
    disabled: Type.Optional(
      Type.Object({
        until: Type.String({ format: 'date-time' }),
        reason: Type.String(),
        sentences: Type.Array(CodedSentence, { description: 'The reason as data, for pages in other languages.' }),
      }),
    ),
  },
  { $id: 'WebhookRecord', ...closed, description: 'A webhook.' },
)
export type WebhookRecord = Static<typeof WebhookRecord>
