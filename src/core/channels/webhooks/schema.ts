import { type Static, Type } from 'typebox'
import { CodedSentence, saidAsData } from '../../notices.ts'
import { date, name, nullable, optional, word } from '../fields.ts'
import { ALL_EVENTS, CHANNEL_EVENTS } from './events.ts'
import { failuresInRow } from '../../webhooks/schema.ts'
import { closed } from '../../validation/closed.ts'

const EVENT_WORDS = [ALL_EVENTS, ...CHANNEL_EVENTS]

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
    description: `The events that it receives; "${ALL_EVENTS}": all.`,
  })
const description = () => nullable(Type.String({ maxLength: 1024, description: 'For people.' }))
const active = (text: string) => optional(Type.Boolean({ description: text }))

export const CreateChannelWebhook = Type.Object(
  {
    name: name(),
    url: url(),
    events: events(),
    description: description(),
    active: active('Whether events are sent. Default false: make it, read its secret, then activate it.'),
  },
  { $id: 'CreateChannelWebhook', ...closed },
)
export type CreateChannelWebhook = Static<typeof CreateChannelWebhook>

export const UpdateChannelWebhook = Type.Object(
  {
    name: optional(name()),
    url: optional(url()),
    events: optional(events()),
    description: description(),
    active: active(
      'false: nothing more is sent, and what waits is given up. true also ends a pause, and what waits is sent.',
    ),
  },
  { $id: 'UpdateChannelWebhook', ...closed },
)
export type UpdateChannelWebhook = Static<typeof UpdateChannelWebhook>

export const ChannelWebhookRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    url: Type.String({ description: 'For a credential of scope `read`: only scheme, host and port.' }),
    events: Type.Array(Type.String()),
    description: optional(Type.String()),
    active: Type.Boolean(),
    failuresInRow: failuresInRow('How many events were given up since the last that arrived. Absent: none.'),
    disabled: optional(
      Type.Object(
        {
          until: date(),
          reason: Type.String(),
          sentences: Type.Array(CodedSentence, { description: 'The reason as data.' }),
        },
        {
          ...closed,
          description: 'Many events in a row were given up. One a minute is tried; the first success ends the pause.',
        },
      ),
    ),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'ChannelWebhook', ...closed },
)
export type ChannelWebhookRecord = Static<typeof ChannelWebhookRecord>

const eventId = () => Type.String({ description: 'Of the event; receivers get it as `webhook-id`.' })

const LOG_STATES = ['delivered', 'failed', 'unknown', 'skipped'] as const

export const LogEntry = Type.Object(
  {
    id: Type.String(),
    eventId: eventId(),
    timestamp: date(),
    type: Type.String({ description: 'The event.' }),
    state: word(
      LOG_STATES,
      'unknown: the server stopped in the middle, so the receiver may have it. skipped: it was not sent; `error` says why.',
    ),
    statusCode: Type.Integer({ description: 'What the receiver answered; 0: nothing, or it was not asked.' }),
    requestData: Type.Any({ description: 'The body as it was sent, or would have been.' }),
    attempt: Type.Integer({
      description: 'Failed ones are followed by others: after 5 s, 30 s, 2 min, 10 min and 1 h.',
    }),
    durationMs: Type.Integer(),
    error: optional(Type.String()),
    errorSentences: optional(saidAsData()),
    redeliveryOf: optional(Type.String({ description: 'The entry that a person had sent again.' })),
  },
  { $id: 'LogEntry', ...closed, description: 'One attempt to deliver an event, or one that was skipped.' },
)
export type LogEntry = Static<typeof LogEntry>

export const EventEntry = Type.Object(
  {
    id: eventId(),
    timestamp: date(),
    type: Type.String(),
    requestData: Type.Any({ description: 'The body of its callbacks: `type`, `created`, `object`, `data`.' }),
  },
  { $id: 'ChannelEvent', ...closed, description: 'Something that happened, whether a webhook wanted it or not.' },
)
export type EventEntry = Static<typeof EventEntry>

export const TestChannelWebhook = Type.Object(
  {
    type: optional(
      Type.Enum([...CHANNEL_EVENTS], { description: 'Which event; by default the first that the webhook wants.' }),
    ),
  },
  { $id: 'TestChannelWebhook', ...closed },
)

export const SentEntry = Type.Object(
  {
    id: Type.String({ description: 'Of the entry in the log, which is there when the attempt has ended.' }),
    eventId: eventId(),
    type: Type.String({ description: 'The event.' }),
  },
  { $id: 'SentEntry', ...closed, description: 'Something that a person asked to be sent. It is not tried again.' },
)
export type SentEntry = Static<typeof SentEntry>

export const Secret = Type.Object(
  { secret: Type.String({ format: 'password', description: 'The key of the signatures, as it is.' }) },
  closed,
)
