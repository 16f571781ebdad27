// Explains every refusal, and what to do about it.

const WORDS = {
  'Unauthorized: Invalid token':
    'There is no valid token. It may be missing, mistyped, of the wrong kind (publish or subscribe), or revoked.',
  'Unauthorized: Token disabled': 'This token is disabled. Its owner can enable it again.',
  'Unauthorized: Token expired': 'This token has expired. Ask for a new one.',
  'Unauthorized: StreamName is not valid for token': 'This token is for other streams, not for this stream name.',
  'Unauthorized: Origin not allowed': 'This token is valid on other web sites, not on this one.',
  'Unauthorized: IP Address not allowed':
    'This token does not allow your IP address, or it has reached its limit of addresses.',
  'Unauthorized: Country not allowed': 'This token does not allow your country, or your country is unknown.',
  'Stream not being published': 'This stream is not on the air.',
  'Stream is published at another node': 'Another server of this installation has this stream. Watch it there.',
  manifestIncompatibleCodecsError:
    'This browser has no decoder for this stream over HLS. Try WHEP, or another browser.',
}

const NO_ANSWER = 'The server did not answer. Check that it is running and reachable.'

const BY_STATUS = {
  400: 'The server could not read the request.',
  404: 'The server has nothing at this address.',
  406: 'This browser supports no codec of this stream or server. Try another browser, or HLS.',
  429: 'Too many requests. Try again in a moment.',
  503: 'The server cannot accept this now. Try again in a moment.',
}

/** `{ words, detail }`: an explanation for the user, and the server's own answer. */
export function explain(error) {
  if (error?.name === 'NotAllowedError')
    return { words: 'The browser has no permission to use this source.', detail: '' }
  if (error?.name === 'SecurityError')
    return { words: 'Browsers offer camera and screen only to pages with https. See /trust.', detail: '' }
  if (error?.name === 'NotFoundError') return { words: 'This machine has no such device.', detail: '' }
  const { message = String(error), status = 0 } = error ?? {}
  const words = error instanceof TypeError ? NO_ANSWER : (WORDS[message] ?? BY_STATUS[status] ?? message)
  return { words, detail: status === 0 ? '' : `${status} ${message}` }
}
