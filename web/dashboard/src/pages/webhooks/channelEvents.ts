import type { Args, createChannelWebhook } from '#api/channels.ts'

/** An event of channels, or `*` for all. */
export type ChosenEvent = Args<typeof createChannelWebhook>['body']['events'][number]
export type EventName = Exclude<ChosenEvent, '*'>

/** Stands for all events, also for those of a later version. */
export const ALL_EVENTS = '*' satisfies ChosenEvent

export type EventGroup = 'channel' | 'engine' | 'ingest' | 'distribution' | 'scheduler' | 'webhook'

/** The events by their subject, in the order in which they happen. */
export const EVENTS = {
  channel: ['channel.created', 'channel.updated', 'channel.deploying', 'channel.stopped', 'channel.deleted'],
  engine: [
    'engine.created',
    'engine.updated',
    'engine.deploying',
    'engine.waiting',
    'engine.starting',
    'engine.ingesting',
    'engine.playing',
    'engine.stopping',
    'engine.stopped',
    'engine.deleting',
    'engine.deleted',
    'engine.error',
    'engine.log.info',
    'engine.log.warn',
    'engine.log.error',
  ],
  ingest: ['ingest.created', 'ingest.updated', 'ingest.deleted'],
  distribution: [
    'distribution.created',
    'distribution.updated',
    'distribution.enabled',
    'distribution.disabled',
    'distribution.deleted',
    'distribution.security.key.added',
    'distribution.security.key.deleted',
    'distribution.security.keys.deleted',
  ],
  scheduler: [
    'scheduler.created',
    'scheduler.updated',
    'scheduler.deleted',
    'scheduler.active',
    'scheduler.terminated',
  ],
  webhook: ['webhook.created', 'webhook.updated', 'webhook.deleted'],
} as const satisfies Readonly<Record<EventGroup, readonly EventName[]>>

export const GROUPS = Object.keys(EVENTS) as readonly EventGroup[]

/** Every event, in the order of the groups. */
export const EVERY_EVENT: readonly EventName[] = GROUPS.flatMap((group) => [...EVENTS[group]])

/** How the latest attempts went: `ok` if all were delivered, `error` if none was. Skipped events are no attempts. */
export function healthOf(rows: readonly { readonly state: string }[]): {
  readonly kind: 'ok' | 'warn' | 'error'
  readonly delivered: number
  readonly all: number
} | null {
  const attempts = rows.filter(({ state }) => state !== 'skipped')
  const delivered = attempts.filter(({ state }) => state === 'delivered').length
  if (attempts.length === 0) return null
  const kind = delivered === attempts.length ? 'ok' : delivered === 0 ? 'error' : 'warn'
  return { kind, delivered, all: attempts.length }
}

/** The events that a test of a webhook may send, those that it receives first. */
export function testsOf(events: readonly string[]): readonly EventName[] {
  const wanted = EVERY_EVENT.filter((name) => events.includes(name))
  return [...wanted, ...EVERY_EVENT.filter((name) => !events.includes(name))]
}

/** Adds an event to a choice, or removes it. */
export const withEvent = (chosen: readonly EventName[], name: EventName, isOn: boolean): readonly EventName[] =>
  EVERY_EVENT.filter((one) => (one === name ? isOn : chosen.includes(one)))
