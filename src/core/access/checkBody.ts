import type { FieldErrors } from '../errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { parseAddress, type Address } from './address.ts'
import { parseCountry } from './country.ts'
import { checkStreamName } from './streamName.ts'
import type { Action, Protocol } from './types.ts'

/** The question of `POST /api/access/check`, parsed. */
export interface CheckQuestion {
  action: Action
  protocol: Protocol
  streamName: string
  accountId: string | null
  token: string | null
  address: Address
  origin: string | null
  /** Undefined: look it up. */
  country: string | undefined
  /** Epoch milliseconds; undefined: now. */
  atMs: number | undefined
}

const PROTOCOLS: Readonly<Record<Action, readonly Protocol[]>> = {
  publish: ['whip', 'rtmp'],
  view: ['whep', 'hls'],
}

const FIELDS = new Set(['action', 'accountId', 'streamName', 'token', 'ip', 'origin', 'country', 'protocol', 'at'])
/** Longer than any token, so that a token that is too long is refused as one. */
const TEXT_MAX = 16_384

/** Reads the body of a dry run. Every error of every field is named at once. */
export function readCheck(body: unknown): Result<CheckQuestion, FieldErrors> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return err({ body: ['must be a JSON object'] })
  }
  const reader = new FieldReader(body as Record<string, unknown>)
  const action = reader.oneOf('action', ['publish', 'view'] as const)
  const protocol = reader.oneOf('protocol', action ? PROTOCOLS[action] : (['whip', 'whep', 'rtmp', 'hls'] as const))
  const streamName = reader.text('streamName', true)
  const streamNameProblem = streamName === undefined ? null : checkStreamName(streamName)
  if (streamNameProblem !== null) reader.wrong('streamName', streamNameProblem)
  const ip = reader.text('ip', true)
  const address = ip === undefined ? undefined : (parseAddress(ip) ?? undefined)
  if (ip !== undefined && !address) reader.wrong('ip', 'must be an IPv4 or IPv6 address')
  const question = {
    accountId: reader.text('accountId') ?? null,
    token: reader.text('token') ?? null,
    origin: reader.text('origin') ?? null,
    country: readCountry(reader),
    atMs: readAt(reader),
  }
  if (!reader.sound() || !action || !protocol || streamName === undefined || !address) return err(reader.errors)
  return ok({ action, protocol, streamName, address, ...question })
}

function readCountry(reader: FieldReader): string | undefined {
  const text = reader.text('country')
  if (text === undefined) return undefined
  const country = parseCountry(text)
  if (country.ok) return country.value
  reader.wrong('country', country.error)
  return undefined
}

function readAt(reader: FieldReader): number | undefined {
  const text = reader.text('at')
  if (text === undefined) return undefined
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  reader.wrong('at', 'must be an ISO 8601 time like 2026-01-31T12:00:00Z')
  return undefined
}

/** Reads optional and required fields of an object and collects what is wrong with them. */
class FieldReader {
  readonly errors: FieldErrors = {}
  readonly #body: Record<string, unknown>

  constructor(body: Record<string, unknown>) {
    this.#body = body
    for (const name in body) {
      if (!FIELDS.has(name))
        this.wrong(name.slice(0, 64), `is not a field of this request; allowed: ${[...FIELDS].join(', ')}`)
    }
  }

  sound(): boolean {
    for (const _ in this.errors) return false
    return true
  }

  wrong(name: string, what: string): void {
    ;(this.errors[name] ??= []).push(what)
  }

  /** A string, or undefined when it is absent or null (or wrong, which is then noted). */
  text(name: string, required = false): string | undefined {
    const value = this.#body[name]
    if (value === undefined || value === null) {
      if (required) this.wrong(name, 'is required')
      return undefined
    }
    if (typeof value === 'string' && value.length <= TEXT_MAX) return value
    this.wrong(name, `must be a string of at most ${TEXT_MAX} characters`)
    return undefined
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.#body[name]
    const found = allowed.find((item) => item === value)
    if (found === undefined) this.wrong(name, `must be one of ${allowed.join(', ')}`)
    return found
  }
}
