import { type Static, type TObject, Type } from 'typebox'
import { FINDING_CODES } from '../streams/findings.ts'
import { FindingsSchema } from '../streams/findingsSchema.ts'
import { STREAM_HEALTH } from '../streams/health.ts'

/**
 * Every webhook event: the one table behind payloads, test events and the documentation. The order of a schema's
 * properties is the order of the keys on the wire.
 */

const text = (description: string) => Type.String({ description })
const moment = (description: string) => Type.Integer({ minimum: 0, description: `${description}, epoch milliseconds` })

const Stream = {
  name: text('stream name'),
  streamId: text('`accountId/streamName`'),
}

const Feed = {
  feedId: Type.String({ format: 'uuid', description: "the publisher's live media; a new publisher is a new feed" }),
  accountId: text('owner of the stream'),
  ...Stream,
  sourceId: Type.Optional(text('the source, when several publish under one name')),
  simulcastId: Type.Optional(text('where several publishers send the source, each a layer: its sourceId, or empty')),
  priority: Type.Optional(Type.Integer({ description: 'rank of its publisher among those of the source' })),
  tokenId: Type.Integer({ description: 'publish token of the stream' }),
  active: Type.Boolean({ description: 'whether the feed is live' }),
  started: moment('when it began'),
}

const Track = Type.Object({
  type: Type.Union([Type.Literal('audio'), Type.Literal('video')]),
  codec: Type.String(),
  bitrate: Type.Optional(Type.Integer()),
  width: Type.Optional(Type.Integer()),
  height: Type.Optional(Type.Integer()),
})

const Recording = {
  recordingId: text('the recording'),
  tokenId: Type.Integer({ description: 'publish token of the stream' }),
  streamName: text('stream name'),
  streamId: text('`accountId/streamName`'),
  started: moment('when it began'),
}

const RecordingEnd = {
  ...Recording,
  ended: Type.Optional(moment('when it ended')),
  bytes: Type.Optional(Type.Integer({ minimum: 0, description: 'size of the file' })),
  durationMs: Type.Optional(Type.Integer({ minimum: 0, description: 'length, milliseconds' })),
  tracks: Type.Optional(Type.Array(Track, { description: 'what it holds' })),
  url: Type.Optional(text('where it can be fetched')),
}

const Transcoder = Type.Object({
  transcoderId: text('the transcoder'),
  transcoderName: text('its name; this is what a filter is matched against'),
  channelId: text('the channel that it serves'),
  status: text('its status after the event'),
  created: moment('when it was made'),
})

const Restream = {
  feedId: Feed.feedId,
  accountId: Feed.accountId,
  ...Stream,
  tokenId: Feed.tokenId,
  index: Type.Integer({ minimum: 0, description: 'place of the target in `restream` of the token, from 0' }),
  label: text('label of the target'),
  url: text('address of the target, without its key'),
}

const Viewing = Type.Object({ name: Stream.name, accountId: Feed.accountId, streamId: Stream.streamId })

export interface EventDefinition {
  /** When it is sent, in one sentence. */
  readonly when: string
  readonly data: TObject
  /** Its switch, if it has one of its own. */
  readonly kind?: 'feedHealth'
}

export const EVENTS = {
  feeds: {
    started: {
      when: 'A stream began to be published, or another publisher of it took over.',
      data: Type.Object({
        ...Feed,
        previousFeedId: Type.Optional(text('the feed of the same source that this one takes over from')),
      }),
    },
    ended: {
      when: 'A stream is no longer published, or its feed was replaced.',
      data: Type.Object({ ...Feed, ended: moment('when it ended') }),
    },
    health: {
      kind: 'feedHealth',
      when: 'Something is wrong with the media of a stream, or no longer.',
      data: Type.Object({
        ...Feed,
        health: Type.Enum([...STREAM_HEALTH], { type: 'string', description: STREAM_HEALTH.join(', ') }),
        findings: FindingsSchema,
        cleared: Type.Array(Type.Enum([...FINDING_CODES], { type: 'string' }), {
          description: 'codes of findings in the event before that are over',
        }),
        withheld: Type.Optional(
          Type.Integer({ minimum: 1, description: 'changes since the event before that got no event of their own' }),
        ),
      }),
    },
  },
  recording: {
    started: { when: 'A recording began.', data: Type.Object(Recording) },
    completed: { when: 'A recording is complete and can be fetched.', data: Type.Object(RecordingEnd) },
    error: {
      when: 'A recording failed, or ended before its broadcast; what exists of it is described.',
      data: Type.Object(RecordingEnd),
    },
    deleted: { when: 'A recording was deleted.', data: Type.Object(RecordingEnd) },
  },
  transcoder: {
    started: { when: 'A transcoder runs.', data: Transcoder },
    stopped: { when: 'A transcoder was stopped.', data: Transcoder },
    error: { when: 'A transcoder failed.', data: Transcoder },
  },
  restream: {
    started: { when: 'A target takes the media of a stream.', data: Type.Object(Restream) },
    ended: {
      when: 'A target no longer gets media, because the stream or the target ended, or the target asked to connect again.',
      data: Type.Object(Restream),
    },
    error: {
      when: 'A target was lost, or takes no media. While it stays away, once.',
      data: Type.Object({ ...Restream, problem: text('what is wrong, for people') }),
    },
  },
  viewerConnection: {
    ViewerAttempt: {
      when: 'A client tried to view a stream that is not being published; at most once per 10 s and stream.',
      data: Viewing,
    },
    FirstViewerConnection: { when: 'A stream without viewers got one.', data: Viewing },
    NoActiveViewers: { when: 'A stream has had no viewers for 60 s (configurable).', data: Viewing },
  },
} as const satisfies Record<string, Record<string, EventDefinition>>

type Events = typeof EVENTS
export type JsonHookType = keyof Events
/** The value of `type`; `thumbnail` has no JSON payload, its body is the image. */
export type HookType = JsonHookType | 'thumbnail'
/** What a webhook switches on and off: a type, or an event with a switch of its own. */
export type HookKind = HookType | 'feedHealth'

/** One event with its data, for any type: `{ type, event, data }`. */
export type WebhookEvent = {
  [T in JsonHookType]: {
    [E in keyof Events[T]]: Events[T][E] extends { data: infer D extends TObject }
      ? { readonly type: T; readonly event: E; readonly data: Static<D> }
      : never
  }[keyof Events[T]]
}[JsonHookType]

/** An event as read from the store, where its types are erased. */
export interface StoredEvent {
  readonly type: string
  readonly event: string
  readonly data: object
}

/** The definition of an event, or undefined when no event has this name. */
export function definitionOf(type: string, event: string): EventDefinition | undefined {
  const events: Record<string, Record<string, EventDefinition>> = EVENTS
  return Object.hasOwn(events, type) && Object.hasOwn(events[type] ?? {}, event) ? events[type]?.[event] : undefined
}

/** The switch that an event needs. */
export const hookKindOf = ({ type, event }: Pick<StoredEvent, 'type' | 'event'>): HookKind =>
  definitionOf(type, event)?.kind ?? (type as HookType)

/** The text that a webhook's filter matches: the name of the transcoder or of the stream. */
export function subjectOf(event: WebhookEvent): string {
  switch (event.type) {
    case 'transcoder':
      return event.data.transcoderName
    case 'recording':
      return event.data.streamName
    case 'feeds':
    case 'restream':
    case 'viewerConnection':
      return event.data.name
  }
}

const encoder = new TextEncoder()

/**
 * The exact bytes of a callback. Keys are in the order `type`, `event`, `timestamp`, `data`, and those of `data` in
 * the order of the table, however the object was built. Keys that are not in the table are left out.
 * @param timestampMs when the request is sent, epoch milliseconds
 * @throws for an unknown event: no version of Sluice can have written it
 */
export function renderPayload(event: StoredEvent, timestampMs: number): Uint8Array {
  const definition = definitionOf(event.type, event.event)
  if (!definition) throw new Error(`there is no event ${event.type} ${event.event}`)
  const given = event.data as Record<string, unknown>
  const data = Object.fromEntries(
    Object.keys(definition.data.properties).flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])),
  )
  return encoder.encode(JSON.stringify({ type: event.type, event: event.event, timestamp: timestampMs, data }))
}
