import { err, ok, type Result } from '../base/result.ts'
import type { HookType } from '../core/webhooks/events.ts'
import { HOOK_TYPES, WEBHOOK_KINDS, type WebhookFlag } from '../core/webhooks/kinds.ts'
import type { WebhookRecord } from '../core/webhooks/schema.ts'
import { texts } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

export const EVENTS_FLAG = texts('TYPE', `A type of events to send: ${HOOK_TYPES.join(', ')}, or all.`)

/** Every switch: on for the named types, off for the others. */
export function switchesFor(named: readonly string[]): Result<Partial<Record<WebhookFlag, boolean>>, CliRefusal> {
  const wrong = named.find((name) => name !== 'all' && !HOOK_TYPES.some((type) => type === name))
  if (wrong !== undefined) return err(usage(`--event must be ${HOOK_TYPES.join(', ')} or all`))
  const isOn = (type: string): boolean => named.includes('all') || named.includes(type)
  return ok(Object.fromEntries(HOOK_TYPES.map((type) => [WEBHOOK_KINDS[type].flag, isOn(type)])))
}

/** The types of a webhook. */
export const eventsOf = (webhook: WebhookRecord): HookType[] =>
  HOOK_TYPES.filter((type) => webhook[WEBHOOK_KINDS[type].flag])
