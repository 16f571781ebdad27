import { err, ok, type Result } from '../base/result.ts'
import type { WebhookFlag, WebhookRecord } from '../core/webhooks/schema.ts'
import { texts } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

/** The types of events in payloads, each with its switch. */
const SWITCHES = {
  feeds: 'isFeedHooks',
  recording: 'isRecordingHooks',
  thumbnail: 'isThumbnailHooks',
  transcoder: 'isTranscoderHooks',
  viewerConnection: 'isViewerConnectionHooks',
} as const satisfies Record<string, WebhookFlag>

type EventType = keyof typeof SWITCHES
const TYPES = Object.keys(SWITCHES) as readonly EventType[]

export const EVENTS_FLAG = texts('TYPE', `A type of events to send: ${TYPES.join(', ')}, or all.`)

/** Every switch: on for the named types, off for the others. */
export function switchesFor(named: readonly string[]): Result<Partial<Record<WebhookFlag, boolean>>, CliRefusal> {
  const wrong = named.find((name) => name !== 'all' && !TYPES.some((type) => type === name))
  if (wrong !== undefined) return err(usage(`--event must be ${TYPES.join(', ')} or all`))
  const isOn = (type: string): boolean => named.includes('all') || named.includes(type)
  return ok(Object.fromEntries(TYPES.map((type) => [SWITCHES[type], isOn(type)])))
}

/** The types of a webhook. */
export const eventsOf = (webhook: WebhookRecord): EventType[] => TYPES.filter((type) => webhook[SWITCHES[type]])
