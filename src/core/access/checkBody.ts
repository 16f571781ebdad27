import { isObject } from '../../base/objects.ts'
import type { FieldErrors } from '../errors.ts'
import { err, type Result } from '../../base/result.ts'
import { parseAddress, type Address } from './address.ts'
import { instant } from '../validation/moments.ts'
import { Problems } from '../validation/problems.ts'
import { plainTextProblem } from '../validation/text.ts'
import { parseCountry } from './country.ts'
import { type Protocol, PROTOCOLS, PROTOCOLS_OF } from './protocols.ts'
import { checkStreamName } from './streamName.ts'
import type { Action } from './types.ts'

/** The parsed body of `POST /api/access/check`. */
export interface CheckQuestion {
  action: Action
  protocol: Protocol
  streamName: string
  accountId: string | null
  token: string | null
  /** Asks as if the value of this token were presented; undefined: `token` counts. */
  tokenId: number | undefined
  address: Address
  origin: string | null
  /** Undefined: look the country up. */
  country: string | undefined
  /** Epoch milliseconds; undefined: now. */
  atMs: number | undefined
}

const ACTIONS = ['publish', 'view'] as const
const NAMES = [
  'action',
  'accountId',
  'streamName',
  'token',
  'tokenId',
  'ip',
  'origin',
  'country',
  'protocol',
  'at',
] as const
type Field = (typeof NAMES)[number]
const FIELDS: ReadonlySet<string> = new Set(NAMES)
/** Longer than any token, so that an overlong token reaches the decision and is refused there. */
const TEXT_MAX = 16_384

/** The body as sent: each field may hold any value. */
type Given = { readonly [field in Field]?: unknown }

/** Parses the body of a dry run. It reports all errors of all fields at once. */
export function readCheck(body: unknown): Result<CheckQuestion, FieldErrors> {
  if (!isObject(body)) return err({ body: ['must be a JSON object'] })
  const given: Given = body
  const problems = new Problems()
  noteUnknown(given, problems)
  const action = oneOf('action', given.action, ACTIONS, problems)
  const protocol = oneOf('protocol', given.protocol, action ? PROTOCOLS_OF[action] : PROTOCOLS, problems)
  const streamName = readStreamName(given.streamName, problems)
  const address = readAddress(given.ip, problems)
  const accountId = readAccountId(given.accountId, problems)
  const token = optional('token', given.token, problems) ?? null
  const tokenId = given.tokenId === undefined ? undefined : readTokenId(given.tokenId, token, problems)
  const origin = optional('origin', given.origin, problems) ?? null
  const country = parsed('country', given.country, parseCountry, problems)
  const atMs = parsed('at', given.at, instant, problems)
  const question = { action, protocol, streamName, address, accountId, token, tokenId, origin, country, atMs }
  // What is missing was noted.
  return problems.settle(question as CheckQuestion)
}

function noteUnknown(given: Given, problems: Problems): void {
  for (const name in given) {
    if (!FIELDS.has(name)) problems.add(name, `is not a field of this request; allowed: ${[...FIELDS].join(', ')}`)
  }
}

function readStreamName(value: unknown, problems: Problems): string | undefined {
  const name = required('streamName', value, problems)
  const problem = name === undefined ? null : checkStreamName(name)
  if (problem !== null) problems.add('streamName', problem)
  return name
}

function readAddress(value: unknown, problems: Problems): Address | null {
  const text = required('ip', value, problems)
  if (text === undefined) return null
  const address = parseAddress(text)
  if (address === null) problems.add('ip', 'must be an IPv4 or IPv6 address')
  return address
}

function readAccountId(value: unknown, problems: Problems): string | null {
  const text = optional('accountId', value, problems) ?? null
  const problem = text === null ? null : plainTextProblem(text)
  if (problem !== null) problems.add('accountId', problem)
  return text
}

function readTokenId(value: unknown, token: string | null, problems: Problems): number | undefined {
  if (value === null) return undefined
  if (token !== null) problems.add('tokenId', 'must not be sent beside token: they name two tokens, or one twice')
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value)
  problems.add('tokenId', 'must be the id of a token, a whole number from 1 on')
  return undefined
}

/** Undefined when the value is absent, null or wrong. A wrong one is noted. */
function parsed<T>(
  name: string,
  value: unknown,
  parse: (text: string) => Result<T, string>,
  problems: Problems,
): T | undefined {
  const text = optional(name, value, problems)
  if (text === undefined) return undefined
  const read = parse(text)
  if (read.ok) return read.value
  problems.add(name, read.error)
  return undefined
}

function required(name: string, value: unknown, problems: Problems): string | undefined {
  if (value === undefined || value === null) problems.add(name, 'is required')
  return optional(name, value, problems)
}

/** A string, or undefined when the value is absent, null or wrong. A wrong value is noted. */
function optional(name: string, value: unknown, problems: Problems): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && value.length <= TEXT_MAX) return value
  problems.add(name, `must be a string of at most ${TEXT_MAX} characters`)
  return undefined
}

function oneOf<T extends string>(
  name: string,
  value: unknown,
  allowed: readonly T[],
  problems: Problems,
): T | undefined {
  for (const item of allowed) if (item === value) return item
  problems.add(name, `must be one of ${allowed.join(', ')}`)
  return undefined
}
