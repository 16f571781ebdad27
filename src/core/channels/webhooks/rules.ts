import type { Result } from '../../../base/result.ts'
import type { FieldErrors } from '../../errors.ts'
import { readName } from '../name.ts'
import { checkPlainText } from '../../validation/canonical.ts'
import { Problems } from '../../validation/problems.ts'
import { readShape, type BodyReader } from '../../validation/bodyReader.ts'
import type { Health } from '../../webhooks/types.ts'
import type { CheckUrl } from '../../webhooks/rules.ts'
import { ALL_EVENTS } from './events.ts'
import { CreateChannelWebhook, type ChannelWebhookRecord, TestChannelWebhook, UpdateChannelWebhook } from './schema.ts'

export interface ChannelWebhookRules {
  name: string
  url: string
  events: readonly string[]
  description: string | null
  active: boolean
}

/** Reads the body of a create, whatever it is; all errors at once. */
export function readCreateChannelWebhook(body: unknown, checkUrl: CheckUrl): Result<ChannelWebhookRules, FieldErrors> {
  const problems = new Problems()
  const sound = readShape(CreateChannelWebhook, body, problems)
  return problems.settle({
    name: readName(sound) ?? '',
    url: readUrl(sound, checkUrl) ?? '',
    events: readEvents(sound) ?? [],
    description: readDescription(sound) ?? null,
    active: sound.value('active') ?? false,
  })
}

/** Reads the body of an update: what it names. */
export function readUpdateChannelWebhook(
  body: unknown,
  checkUrl: CheckUrl,
): Result<Partial<ChannelWebhookRules>, FieldErrors> {
  const problems = new Problems()
  const sound = readShape(UpdateChannelWebhook, body, problems)
  const named = {
    name: readName(sound),
    url: readUrl(sound, checkUrl),
    events: readEvents(sound),
    description: sound.clears('description') ? null : readDescription(sound),
    active: sound.value('active'),
  }
  const entries = Object.entries(named).filter(([, value]) => value !== undefined)
  return problems.settle<Partial<ChannelWebhookRules>>(Object.fromEntries(entries))
}

/** Reads the body of a test; there may be none. */
export function readChannelWebhookTest(body: unknown): Result<{ type?: string }, FieldErrors> {
  const problems = new Problems()
  const type = readShape(TestChannelWebhook, body ?? {}, problems).value('type')
  return problems.settle(type === undefined ? {} : { type })
}

type Body = BodyReader<Pick<UpdateChannelWebhook, 'url' | 'events' | 'description'>>

function readUrl(body: Body, checkUrl: CheckUrl): string | undefined {
  const text = body.value('url')
  const checked = text === undefined ? undefined : checkUrl(text)
  if (checked && !checked.ok) body.problems.add('url', checked.error)
  return checked?.ok ? checked.value.href : undefined
}

/** Everything covers whatever stands beside it. */
function readEvents(body: Body): readonly string[] | undefined {
  const events = body.value('events')
  if (events === undefined) return undefined
  return events.includes(ALL_EVENTS) ? [ALL_EVENTS] : [...new Set(events)]
}

function readDescription(body: Body): string | undefined {
  const text = body.value('description')
  checkPlainText('description', text, body.problems)
  return text
}

interface Stored extends ChannelWebhookRules, Health {
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** @param whole false: of the URL, only where it leads. What comes behind the host often holds a key of the receiver. */
export function toChannelWebhookRecord(webhook: Stored, nowMs: number, whole = true): ChannelWebhookRecord {
  const { id, name, events, description, active, disabled } = webhook
  const isPaused = disabled !== null && nowMs < disabled.untilMs
  return {
    id,
    name,
    url: whole ? webhook.url : `${new URL(webhook.url).origin}/`,
    events: [...events],
    ...(description === null ? {} : { description }),
    active,
    ...(isPaused ? { disabled: { until: new Date(disabled.untilMs).toISOString(), reason: disabled.reason } } : {}),
    createdAt: new Date(webhook.createdAtMs).toISOString(),
    updatedAt: new Date(webhook.updatedAtMs).toISOString(),
  }
}
