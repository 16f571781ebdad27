// Every refusal in plain words, and what to do about it.

const WORDS = {
  'Unauthorized: Invalid token':
    'There is no valid token. It may be missing, mistyped, of the wrong kind (publish or subscribe), or taken away.',
  'Unauthorized: Token disabled':
    'This token is switched off at the moment. Whoever manages it can switch it on again.',
  'Unauthorized: Token expired': 'This token is past its time. Ask for a new one.',
  'Unauthorized: StreamName is not valid for token': 'This token is for other streams, not for the name given here.',
  'Unauthorized: Origin not allowed': 'This token may be used from pages of other sites only, not from this one.',
  'Unauthorized: IP Address not allowed':
    'This token does not admit your network address, or as many addresses as it admits have used it already.',
  'Unauthorized: Country not allowed': 'This token does not admit your country, or it is not known where you are.',
  'Stream not being published': 'Nobody is broadcasting this stream right now.',
  'Stream is published at another node': 'This stream comes from another server of this installation. Ask that one.',
}

const NO_ANSWER = 'The server did not answer. Is it running, and can it be reached?'

const BY_STATUS = {
  400: 'The server could not read the request.',
  404: 'There is nothing at this address.',
  406: 'This browser has no codec for it that the server knows, or the stream has. Another browser may, or HLS.',
  429: 'That was too often. Try again in a moment.',
  503: 'The server cannot take this now. Try again in a moment.',
}

/** `{ words, detail }`: a sentence for people, and what the server said. */
export function explain(error) {
  if (error?.name === 'NotAllowedError') return { words: 'The browser was not allowed to use this source.', detail: '' }
  if (error?.name === 'NotFoundError') return { words: 'There is no such device on this machine.', detail: '' }
  const { message = String(error), status = 0 } = error ?? {}
  const words = error instanceof TypeError ? NO_ANSWER : (WORDS[message] ?? BY_STATUS[status] ?? message)
  return { words, detail: status === 0 ? '' : `${status} ${message}` }
}
