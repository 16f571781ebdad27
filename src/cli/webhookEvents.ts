import { err, ok, type Result } from '../base/result.ts'
import type { HookKind } from '../core/webhooks/events.ts'
import { HOOK_KINDS, WEBHOOK_KINDS, type WebhookFlag } from '../core/webhooks/kinds.ts'
import type { WebhookRecord } from '../core/webhooks/schema.ts'
import { texts } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

export const EVENTS_FLAG = texts('KIND', `A kind of events to send: ${HOOK_KINDS.join(', ')}, all or none.`)

/** Every switch: on for the named kinds, off for the others. */
export function switchesFor(named: readonly string[]): Result<Partial<Record<WebhookFlag, boolean>>, CliRefusal> {
  const wrong = named.find((name) => name !== 'all' && name !== 'none' && !HOOK_KINDS.some((kind) => kind === name))
  if (wrong !== undefined) return err(usage(`--event must be ${HOOK_KINDS.join(', ')}, all or none`))
  if (named.includes('none') && named.length > 1) return err(usage('--event none stands alone'))
  const isOn = (kind: string): boolean => named.includes('all') || named.includes(kind)
  return ok(Object.fromEntries(HOOK_KINDS.map((kind) => [WEBHOOK_KINDS[kind].flag, isOn(kind)])))
}

/** What a webhook gets. */
export const eventsOf = (webhook: WebhookRecord): HookKind[] =>
  HOOK_KINDS.filter((kind) => webhook[WEBHOOK_KINDS[kind].flag])
