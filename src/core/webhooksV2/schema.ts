import { type Static, Type } from 'typebox'
import { closed, date, name, nullable, optional } from '../live/fields.ts'
import { ALL_EVENTS, LIVE_EVENTS } from './events.ts'

const EVENT_WORDS = [ALL_EVENTS, ...LIVE_EVENTS]

const url = () =>
  Type.String({
    maxLength: 2048,
    description: 'https, on the public internet. Redirects are not followed.',
    examples: ['https://hooks.example.com/live'],
  })
const events = () =>
  Type.Array(Type.Enum(EVENT_WORDS), {
    minItems: 1,
    maxItems: 100,
    description: `What it is told; "${ALL_EVENTS}": everything.`,
  })
const description = () => nullable(Type.String({ maxLength: 1024, description: 'For people.' }))
const active = (text: string) => optional(Type.Boolean({ description: text }))

export const CreateLiveWebhook = Type.Object(
  {
    name: name(),
    url: url(),
    events: events(),
    description: description(),
    active: active('Whether events are sent. Default false: make it, read its secret, then activate it.'),
  },
  { $id: 'CreateLiveWebhook', ...closed },
)
export type CreateLiveWebhook = Static<typeof CreateLiveWebhook>

export const UpdateLiveWebhook = Type.Object(
  {
    name: optional(name()),
    url: optional(url()),
    events: optional(events()),
    description: description(),
    active: active('false: nothing more is sent, and what waits is given up. true also ends a pause after failures.'),
  },
  { $id: 'UpdateLiveWebhook', ...closed },
)
export type UpdateLiveWebhook = Static<typeof UpdateLiveWebhook>

export const LiveWebhookRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    url: Type.String({ description: 'For a credential of scope `read`: only scheme, host and port.' }),
    events: Type.Array(Type.String()),
    description: optional(Type.String()),
    active: Type.Boolean(),
    disabled: optional(
      Type.Object(
        { until: date(), reason: Type.String() },
        { ...closed, description: 'Many deliveries in a row failed, so nothing is sent for a while.' },
      ),
    ),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'LiveWebhook', ...closed },
)
export type LiveWebhookRecord = Static<typeof LiveWebhookRecord>

export const LogEntry = Type.Object(
  {
    id: Type.String(),
    timestamp: date(),
    type: Type.String({ description: 'The event.' }),
    statusCode: Type.Integer({ description: 'What the receiver answered; 0: nothing.' }),
    requestData: Type.Any({ description: 'The body as it was sent.' }),
    attempt: Type.Integer({
      description: 'Failed ones are followed by others: after 5 s, 30 s, 2 min, 10 min and 1 h.',
    }),
    durationMs: Type.Integer(),
    error: optional(Type.String()),
  },
  { $id: 'LogEntry', ...closed, description: 'One attempt to deliver an event.' },
)
export type LogEntry = Static<typeof LogEntry>

export const Secret = Type.Object(
  { secret: Type.String({ description: 'The key of the signatures, as it is.' }) },
  closed,
)
