/** Every reason why a session does not begin, or ends. */
export type SluiceErrorCode =
  | 'invalid_token'
  | 'token_disabled'
  | 'token_expired'
  | 'stream_name_not_allowed'
  | 'origin_not_allowed'
  | 'address_not_allowed'
  | 'country_not_allowed'
  | 'stream_not_published'
  | 'at_another_node'
  | 'codec_not_supported'
  | 'bad_request'
  | 'not_found'
  | 'too_many'
  | 'busy'
  | 'unexpected_answer'
  /** The request did not reach the server, or its answer did not reach the page. */
  | 'no_answer'
  /** The server answered, but no media connection came up in time. */
  | 'not_connected'
  | 'connection_lost'
  /** The server closed the media connection. The next offer gets the reason. */
  | 'ended_by_server'
  /** The server is about to stop, and another one continues: the client connects again at once. */
  | 'moved'
  | 'no_webrtc'
  | 'cannot_send_codec'
  | 'stopped'

/** The refusals of the access decision, which the server sends as these texts. */
const BY_TEXT: Readonly<Record<string, SluiceErrorCode>> = {
  'Unauthorized: Invalid token': 'invalid_token',
  'Unauthorized: Token disabled': 'token_disabled',
  'Unauthorized: Token expired': 'token_expired',
  'Unauthorized: StreamName is not valid for token': 'stream_name_not_allowed',
  'Unauthorized: Origin not allowed': 'origin_not_allowed',
  'Unauthorized: IP Address not allowed': 'address_not_allowed',
  'Unauthorized: Country not allowed': 'country_not_allowed',
  'Stream not being published': 'stream_not_published',
  'Stream is published at another node': 'at_another_node',
}

const BY_STATUS: Readonly<Record<number, SluiceErrorCode>> = {
  400: 'bad_request',
  401: 'invalid_token',
  404: 'not_found',
  406: 'codec_not_supported',
  409: 'stream_not_published',
  413: 'bad_request',
  415: 'bad_request',
  429: 'too_many',
  503: 'busy',
}

/** They may pass without a change of the token, the address or the page. */
const TEMPORARY: ReadonlySet<SluiceErrorCode> = new Set([
  'stream_not_published',
  'at_another_node',
  'too_many',
  'busy',
  'no_answer',
  'connection_lost',
  'ended_by_server',
  'moved',
])

/** Why a session did not begin, or ended. `message` is the server's text as it was sent, when the server refused. */
export class SluiceError extends Error {
  override readonly name = 'SluiceError'
  readonly code: SluiceErrorCode
  /** The HTTP status of the refusal; 0: no server refused. */
  readonly status: number
  /** How long the server asks to wait; 0: it does not say. */
  readonly retryAfterMs: number

  constructor(code: SluiceErrorCode, message: string, status = 0, retryAfterMs = 0) {
    super(message)
    this.code = code
    this.status = status
    this.retryAfterMs = retryAfterMs
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return TEMPORARY.has(this.code)
  }
}

/** The refusal in an answer, also in one to an HLS player. `retryAfter`: the header, in seconds. */
export function refusalOf(status: number, text: string, retryAfter: string | null): SluiceError {
  // The playlist of a channel that does not play yet.
  const isLater = status === 404 && retryAfter !== null
  const code = BY_TEXT[text] ?? (isLater ? 'stream_not_published' : BY_STATUS[status]) ?? 'unexpected_answer'
  return new SluiceError(code, text || `HTTP ${status}`, status, 1000 * (Number(retryAfter) || 0))
}

/** What was thrown, as one of our errors. */
export function asSluiceError(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error
  return new SluiceError('unexpected_answer', error instanceof Error ? error.message : String(error))
}
