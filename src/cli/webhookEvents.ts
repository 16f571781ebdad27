import { err, ok, type Result } from '../base/result.ts'
import type { WebhookFlag, WebhookRecord } from '../core/webhooks/schema.ts'
import { texts } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

/** The types of events as the payload names them, and the switch of each. */
const SWITCHES = {
  feeds: 'isFeedHooks',
  recording: 'isRecordingHooks',
  thumbnail: 'isThumbnailHooks',
  transcoder: 'isTranscoderHooks',
  viewerConnection: 'isViewerConnectionHooks',
} as const satisfies Record<string, WebhookFlag>

type EventType = keyof typeof SWITCHES
const TYPES = Object.keys(SWITCHES) as readonly EventType[]

export const EVENTS_FLAG = texts('TYPE', `A type of events that it gets: ${TYPES.join(', ')}, or all.`)

/** Every switch: on for the types that are named, off for the others. */
export function switchesFor(named: readonly string[]): Result<Partial<Record<WebhookFlag, boolean>>, CliRefusal> {
  const wrong = named.find((name) => name !== 'all' && !TYPES.some((type) => type === name))
  if (wrong !== undefined) return err(usage(`--event must be ${TYPES.join(', ')} or all`))
  const isOn = (type: string): boolean => named.includes('all') || named.includes(type)
  return ok(Object.fromEntries(TYPES.map((type) => [SWITCHES[type], isOn(type)])))
}

/** The types that a webhook gets. */
export const eventsOf = (webhook: WebhookRecord): EventType[] => TYPES.filter((type) => webhook[SWITCHES[type]])
