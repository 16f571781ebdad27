import { type ErrorCode, ERRORS, type Failure, type FieldErrors } from '../errors.ts'

/** Every refusal of the channels API, with its HTTP status. */
export const CHANNEL_ERRORS = {
  validation_failed: 400,
  invalid_limit: 400,
  invalid_cursor: 400,
  invalid_body: 400,
  invalid_request: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  token_required: 403,
  invalid_token: 403,
  token_expired: 403,
  channel_not_allowed: 403,
  device_not_allowed: 403,
  country_not_allowed: 403,
  address_not_allowed: 403,
  referer_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  channel_running: 409,
  engine_running: 409,
  engine_not_ready: 409,
  ingest_in_use: 409,
  ingest_without_key: 409,
  key_cannot_sign: 409,
  abr_ladder_in_use: 409,
  abr_ladder_read_only: 409,
  external_id_taken: 409,
  at_another_node: 409,
  too_many: 409,
  too_many_keys: 409,
  scheduler_active: 409,
  scheduler_not_active: 409,
  scheduler_terminated: 409,
  webhook_active: 409,
  delivery_under_way: 409,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  not_supported: 501,
  unavailable: 503,
  node_full: 503,
} as const satisfies Record<string, number>

/** The page about these refusals, below `/docs/`. */
export const CHANNEL_REFUSALS_PAGE = 'reference/channels.html#refusals'

export type ChannelErrorCode = keyof typeof CHANNEL_ERRORS

/** A refusal for the client: all of it is public. */
export interface ChannelFailure {
  readonly code: ChannelErrorCode
  readonly message: string
  /** Errors by field. */
  readonly details?: readonly { path: string; message: string }[]
}

export const refusal = (code: ChannelErrorCode, message: string): ChannelFailure => ({ code, message })

/** Several fields, all errors at once. */
export function validationFailed(errors: FieldErrors): ChannelFailure {
  const details = Object.entries(errors).flatMap(([path, messages]) => messages.map((message) => ({ path, message })))
  const [first, ...others] = details
  const rest = others.length === 0 ? '' : ` (and ${others.length} more)`
  return { code: 'validation_failed', message: `${first?.path ?? 'body'}: ${first?.message ?? ''}${rest}`, details }
}

/** What these refusals of the token API are called here; others have one name in both interfaces. */
const OTHER_NAMES: Partial<Record<ErrorCode, ChannelErrorCode>> = {
  bad_request: 'invalid_request',
  bad_body: 'invalid_body',
  forbidden: 'insufficient_scope',
}

const isCode = (name: string): name is ChannelErrorCode => Object.hasOwn(CHANNEL_ERRORS, name)

/** A refusal that concerns the request or the server, not a resource, as this interface says it. */
export function asChannelFailure({ code, data }: Failure): ChannelFailure {
  if (code === 'validation') return validationFailed(data['errors'] as FieldErrors)
  const [name, { message }] = [OTHER_NAMES[code] ?? code, data]
  return refusal(isCode(name) ? name : 'internal', typeof message === 'string' ? message : ERRORS[code].text)
}

/** The same answer for a resource that never existed, was deleted, or belongs to another account. */
export const noSuch = (what: string, id: string): ChannelFailure =>
  refusal('not_found', `There is no ${what} with the id ${id.slice(0, 64)}`)
