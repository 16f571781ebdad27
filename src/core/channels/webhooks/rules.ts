import { isoTime } from '../../../base/time.ts'
import type { Result } from '../../../base/result.ts'
import type { FieldErrors } from '../../errors.ts'
import { readName } from '../name.ts'
import { checkPlainText } from '../../validation/text.ts'
import { Problems } from '../../validation/problems.ts'
import { readShape, type BodyReader } from '../../validation/bodyReader.ts'
import { pauseOf, toPauseRecord } from '../../webhooks/route.ts'
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

/** Parses the body of a create. All errors at once. */
export function readCreateChannelWebhook(body: unknown, checkUrl: CheckUrl): Result<ChannelWebhookRules, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateChannelWebhook, body, problems)
  return problems.settle({
    name: readName(reader) ?? '',
    url: readUrl(reader, checkUrl) ?? '',
    events: readEvents(reader) ?? [],
    description: readDescription(reader) ?? null,
    active: reader.value('active') ?? false,
  })
}

/** Parses the body of an update: only the fields that it contains. */
export function readUpdateChannelWebhook(
  body: unknown,
  checkUrl: CheckUrl,
): Result<Partial<ChannelWebhookRules>, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateChannelWebhook, body, problems)
  const named = {
    name: readName(reader),
    url: readUrl(reader, checkUrl),
    events: readEvents(reader),
    description: reader.clears('description') ? null : readDescription(reader),
    active: reader.value('active'),
  }
  const entries = Object.entries(named).filter(([, value]) => value !== undefined)
  return problems.settle<Partial<ChannelWebhookRules>>(Object.fromEntries(entries))
}

/** Parses the body of a test. It may be absent. */
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

/** "All events" covers every other entry of the list. */
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

/** @param whole false: only scheme and host of the URL. The rest often contains a key of the receiver. */
export function toChannelWebhookRecord(webhook: Stored, nowMs: number, whole = true): ChannelWebhookRecord {
  const { id, name, events, description, active, failuresInRow } = webhook
  const pause = pauseOf(webhook, nowMs)
  return {
    id,
    name,
    url: whole ? webhook.url : `${new URL(webhook.url).origin}/`,
    events: [...events],
    ...(description === null ? {} : { description }),
    active,
    ...(failuresInRow === 0 ? {} : { failuresInRow }),
    ...(pause === null ? {} : { disabled: toPauseRecord(pause) }),
    createdAt: isoTime(webhook.createdAtMs),
    updatedAt: isoTime(webhook.updatedAtMs),
  }
}
