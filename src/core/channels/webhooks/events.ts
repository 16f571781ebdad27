/** The events of channel webhooks and their wire format. */

const names = <G extends string, N extends string>(group: G, list: readonly N[]): readonly `${G}.${N}`[] =>
  list.map((name) => `${group}.${name}` as const)

const ENGINE_STATES = ['deploying', 'waiting', 'starting', 'ingesting', 'playing', 'stopping', 'stopped'] as const
const SECURITY = ['security.key.added', 'security.key.deleted', 'security.keys.deleted'] as const

/** Every event, by its subject. */
export const CHANNEL_EVENTS = [
  ...names('channel', ['created', 'updated', 'deploying', 'stopped', 'deleted']),
  ...names('engine', ['created', 'updated', ...ENGINE_STATES, 'deleting', 'deleted']),
  ...names('engine', ['error', 'log.info', 'log.warn', 'log.error']),
  ...names('ingest', ['created', 'updated', 'deleted']),
  ...names('distribution', ['created', 'updated', 'enabled', 'disabled', 'deleted', ...SECURITY]),
  ...names('scheduler', ['created', 'updated', 'deleted', 'active', 'terminated']),
  ...names('webhook', ['created', 'updated', 'deleted']),
] as const

export type ChannelEventName = (typeof CHANNEL_EVENTS)[number]

const NAMES: ReadonlySet<string> = new Set(CHANNEL_EVENTS)

export const isChannelEvent = (name: string): name is ChannelEventName => NAMES.has(name)

/** Stands for all events in the list of a webhook. */
export const ALL_EVENTS = '*'

/** Marks rows of the outbox and of deliveries that belong to the channels API. The database stores this value. */
export const CHANNEL_EVENT_TYPE = 'channel'

export interface EventObject {
  readonly type: 'channel' | 'ingest' | 'engine' | 'distribution' | 'scheduler' | 'webhook'
  readonly id: string
  readonly name: string
  /** The channel that it is part of. */
  readonly parent?: { readonly type: 'channel'; readonly id: string; readonly name: string }
}

export interface ChannelWebhookEvent {
  readonly name: ChannelEventName
  readonly object: EventObject
  /** The data of the event; null: it has none. */
  readonly data: Readonly<Record<string, unknown>> | null
}

/** The stored part of an event in the outbox, beside its name and time. */
export interface StoredChannelEvent {
  readonly object: EventObject
  readonly data: ChannelWebhookEvent['data']
  /** When it happened, epoch milliseconds. */
  readonly atMs: number
}

/** The public id of an event, from that of its deliveries: in `webhook-id`, and in the list of events. */
export const eventIdOf = (id: string): string => `ev_${id}`

export const wantsChannelEvent = ({ events }: { readonly events: readonly string[] }, name: string): boolean =>
  events.includes(ALL_EVENTS) || events.includes(name)

/** The body of a callback. `created` is in seconds. */
export function channelEventBody(event: { name: string; accountId: string } & StoredChannelEvent): string {
  const { type, id, name, parent } = event.object
  const object = { type, id, organizationId: event.accountId, name, ...(parent ? { parent } : {}) }
  return JSON.stringify({ type: event.name, created: Math.floor(event.atMs / 1000), object, data: event.data })
}

/** No channel or part has this id, so a receiver that looks it up finds nothing. */
const EXAMPLE_ID = '1'.repeat(22)

const PREFIXES: Readonly<Record<EventObject['type'], string>> = {
  channel: 'ch',
  ingest: 'in',
  engine: 'en',
  distribution: 'di',
  scheduler: 'sc',
  webhook: 'wh',
}

const PARTS: readonly string[] = ['ingest', 'engine', 'distribution'] satisfies EventObject['type'][]

/** The example event of this name that a test of a webhook sends. */
export function exampleOf(name: string, atMs: number): StoredChannelEvent {
  const type = (Object.keys(PREFIXES) as EventObject['type'][]).find((one) => name.startsWith(`${one}.`)) ?? 'channel'
  const parent = { type: 'channel' as const, id: `ch_${EXAMPLE_ID}`, name: 'Example' }
  const object = {
    type,
    id: `${PREFIXES[type]}_${EXAMPLE_ID}`,
    name: 'Example',
    ...(PARTS.includes(type) ? { parent } : {}),
  }
  return { object, data: { test: true }, atMs }
}

/** Pauses before the second, third … attempt, milliseconds. */
const RETRY_PAUSES_MS = [5000, 30_000, 120_000, 600_000, 3_600_000]

/** Milliseconds until the next attempt after this many failed ones; null: no further attempt. */
export const retryAfterMs = (attempt: number): number | null => RETRY_PAUSES_MS[attempt - 1] ?? null
