/** Every refusal of the token API. `docs/reference/errors.md` explains each to users. */
export const ERRORS = {
  validation: { status: 400, text: 'Validation errors' },
  bad_request: { status: 400, text: 'Bad request' },
  bad_body: { status: 400, text: 'Bad request' },
  unauthorized: { status: 401, text: 'Unauthorized' },
  forbidden: { status: 403, text: 'Forbidden' },
  not_found: { status: 404, text: 'Not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  request_timeout: { status: 408, text: 'Request timeout' },
  conflict: { status: 409, text: 'Conflict' },
  too_large: { status: 413, text: 'Body too large' },
  unsupported_media_type: { status: 415, text: 'Unsupported Media Type' },
  uri_too_long: { status: 414, text: 'URI too long' },
  expectation_failed: { status: 417, text: 'Expectation failed' },
  headers_too_large: { status: 431, text: 'Headers too large' },
  rate_limited: { status: 429, text: 'Too many requests' },
  unavailable: { status: 503, text: 'The store cannot be reached now; nothing was changed. Try again.' },
  internal: { status: 500, text: 'Internal error' },
  not_supported: { status: 501, text: 'Not supported' },
} as const satisfies Record<string, { status: number; text: string }>

/** The page about these refusals, below `/docs/`. */
export const REFUSALS_PAGE = 'reference/errors.html#when-a-program-manages-tokens'

export type ErrorCode = keyof typeof ERRORS

/** Errors by field path: `streams[0].streamName` -> sentences. */
export type FieldErrors = Record<string, string[]>

/** A refusal for the client. `data` is public: it never contains a secret or an internal message. */
export interface Failure {
  readonly code: ErrorCode
  readonly data: Readonly<Record<string, unknown>>
}

/** Several fields, all errors at once. */
export const invalid = (errors: FieldErrors): Failure => ({
  code: 'validation',
  data: { message: ERRORS.validation.text, errors },
})

/** No object with this id exists for this account. */
export const notFound = (field: string, text: string): Failure => ({ code: 'not_found', data: { [field]: text } })

/** A refusal with one sentence. */
export const failure = (code: ErrorCode, message: string = ERRORS[code].text): Failure => ({ code, data: { message } })
