import type { Static } from 'typebox'
import { isObject } from '../../base/objects.ts'
import { err, type Result } from '../../base/result.ts'
import { compilePattern, haveTooManySteps, TOO_MANY_STEPS } from '../access/streamName.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { type Hints, readShape, type BodyReader } from '../validation/bodyReader.ts'
import { flagsOf, HOOK_KINDS, NO_HOOKS, WEBHOOK_SWITCHES, type WebhookFlag } from './kinds.ts'
import { pauseOf, toPauseRecord } from './route.ts'
import { CreateWebhook, UpdateWebhook, type WebhookRecord } from './schema.ts'
import type { HookSwitches, Webhook, WebhookPatch, WebhookRules } from './types.ts'

/** Whether a webhook may point to this URL. `Egress.checkUrl` knows what the operator allows. */
export type CheckUrl = (url: string) => Result<URL, string>

const SECRET_IS_OURS = 'is made by Sluice; send refreshSecret: true in an update for another one'
const CREATE_HINTS: Hints = new Map([
  ['secret', SECRET_IS_OURS],
  ['refreshSecret', 'belongs to updates; a new webhook has a new secret'],
  ['reEnable', 'belongs to updates; a new webhook is not disabled'],
])
const UPDATE_HINTS: Hints = new Map([
  ['secret', SECRET_IS_OURS],
  ['disabled', 'cannot be set; send reEnable: true to end a pause'],
])

type UpdateBody = Static<typeof UpdateWebhook>

/** Parses the body of a create. The errors name every invalid field. */
export function readWebhookCreate(body: unknown, checkUrl: CheckUrl): Result<WebhookRules, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateWebhook, body, problems, CREATE_HINTS) as unknown as Body
  return problems.settle({
    url: readUrl(reader, checkUrl) ?? '',
    hooks: { ...NO_HOOKS, ...readHooks(reader) },
    filter: readFilter(reader) ?? null,
  })
}

/** Parses the body of an update. Null changes nothing, except that it removes `filter`. */
export function readWebhookUpdate(body: unknown, checkUrl: CheckUrl): Result<WebhookPatch, FieldErrors> {
  if (isObject(body) && saysNothing(body)) return err({ webhook: ['No properties specified to update.'] })
  const problems = new Problems()
  const reader = readShape(UpdateWebhook, body, problems, UPDATE_HINTS)
  const url = readUrl(reader, checkUrl)
  const filter = removesFilter(body) ? null : readFilter(reader)
  return problems.settle({
    set: { ...(url === undefined ? {} : { url }), ...(filter === undefined ? {} : { filter }) },
    hooks: readHooks(reader),
    refreshSecret: reader.value('refreshSecret') ?? false,
    reEnable: reader.value('reEnable') ?? false,
  })
}

/** What is wrong with the filters of all webhooks of an account, with which each event is compared; null: nothing. */
export function refuseFilters(webhooks: readonly Pick<Webhook, 'filter'>[]): FieldErrors | null {
  const filters = webhooks.flatMap(({ filter }) => filter ?? [])
  return haveTooManySteps(filters) ? { filter: [`the filters of the account ${TOO_MANY_STEPS}`] } : null
}

/** A webhook for a reader who sees no secrets: the path and the query of its URL may hold a key. */
export const withoutUrlKeys = (record: WebhookRecord): WebhookRecord => ({
  ...record,
  url: `${new URL(record.url).origin}/`,
})

/** The webhook after an update. The caller makes a new secret. */
export function patched(webhook: Webhook, patch: WebhookPatch): Webhook {
  const lifts = patch.reEnable || patch.set.url !== undefined
  return {
    ...webhook,
    ...patch.set,
    hooks: { ...webhook.hooks, ...patch.hooks },
    ...(lifts ? { failuresInRow: 0, disabled: null } : {}),
  }
}

/**
 * A webhook as responses show it, without a pause that has ended.
 * @param secret base64
 */
export function toWebhookRecord(webhook: Webhook, secret: string, nowMs: number): WebhookRecord {
  const { id, url, hooks, filter, failuresInRow } = webhook
  const pause = pauseOf(webhook, nowMs)
  return {
    id,
    url,
    secret,
    ...flagsIn(hooks),
    isClipHooks: false,
    ...(filter === null ? {} : { filter }),
    ...(failuresInRow === 0 ? {} : { failuresInRow }),
    ...(pause === null ? {} : { disabled: toPauseRecord(pause) }),
  }
}

const flagsIn = (hooks: HookSwitches) =>
  Object.fromEntries(WEBHOOK_SWITCHES.map(({ flag, kind }) => [flag, hooks[kind]])) as Record<WebhookFlag, boolean>

/** The fields of both bodies. */
type Body = BodyReader<UpdateBody>

function readUrl(body: Body, checkUrl: CheckUrl): string | undefined {
  const url = body.value('url')
  const checked = url === undefined ? null : checkUrl(url)
  if (checked?.ok === false) body.problems.add('url', checked.error)
  return url
}

function readFilter(body: Body): string | undefined {
  const filter = body.value('filter')
  const compiled = filter === undefined ? null : compilePattern(filter)
  if (compiled?.ok === false) body.problems.add('filter', compiled.error)
  return filter
}

/** The switches in the body. A switch that is sent under both names must have one value. */
function readHooks(body: Body): Partial<HookSwitches> {
  const named = HOOK_KINDS.flatMap((kind) => {
    const value = readSwitch(body, flagsOf(kind))
    return value === undefined ? [] : [[kind, value] as const]
  })
  return Object.fromEntries(named)
}

function readSwitch(body: Body, spellings: readonly WebhookFlag[]): boolean | undefined {
  const values = spellings.map((flag) => body.value(flag)).filter((value) => value !== undefined)
  if (new Set(values).size > 1) {
    for (const flag of spellings) body.problems.add(flag, `${spellings.join(' and ')} are one switch and must agree`)
  }
  return values[0]
}

const removesFilter = (body: unknown): boolean => isObject(body) && body['filter'] === null

/** True for `{}` and for a body of nothing but nulls. An unknown property is content, which is then refused. */
function saysNothing(body: Record<string, unknown>): boolean {
  const known: readonly string[] = [
    'url',
    'refreshSecret',
    'reEnable',
    'isClipHooks',
    ...WEBHOOK_SWITCHES.map(({ flag }) => flag),
  ]
  return Object.keys(body).every((name) => known.includes(name) && body[name] === null)
}
