import type { SluiceErrorCode } from '../client/index.ts'

/** The same texts in another language. */
type Translated<T> = T extends string
  ? string
  : T extends (...args: infer A) => string
    ? (...args: A) => string
    : { readonly [K in keyof T]: Translated<T[K]> }

const english = {
  number: (value: number, digits: number) => value.toFixed(digits),
  player: (stream: string) => `Player: ${stream}`,
  play: 'Watch',
  pause: 'Pause',
  mute: 'Turn sound off',
  unmute: 'Turn sound on',
  volume: 'Volume',
  captions: 'Captions',
  settings: 'Settings',
  pictureInPicture: 'Picture in picture',
  fullscreen: 'Full screen',
  leaveFullscreen: 'Leave full screen',
  live: 'Live',
  soon: 'Not live',
  connecting: 'Connecting',
  reconnecting: 'Reconnecting',
  again: 'Try again',
  token: 'Token',
  pasteToken: 'Paste a token',
  watch: 'Watch',
  behind: (seconds: string) => `${seconds} s behind`,
  delivery: 'Delivery',
  auto: 'Automatic',
  whep: 'WebRTC, less than a second behind',
  hls: 'HLS, a few seconds behind',
  quality: 'Quality',
  share: 'Share',
  link: 'Link',
  embedCode: 'Embed code',
  copy: 'Copy',
  copied: 'Copied',
  ownToken: 'This stream is for people who have a token. The link asks each of them for their own.',
  statistics: 'Statistics',
  keyboard: 'Keyboard',
  close: 'Close',
  protocol: 'Protocol',
  size: 'Size',
  frames: 'Frames',
  perSecond: (rate: string) => `${rate} per second`,
  codec: 'Codecs',
  bitrate: 'Bitrate',
  behindServer: 'Behind the server',
  buffer: 'Buffer',
  loss: 'Lost packets',
  roundTrip: 'Round trip',
  dropped: 'Dropped frames',
  keys: [
    [['Space', 'K'], 'Watch, pause'],
    [['M'], 'Sound on, off'],
    [['↑', '↓'], 'Louder, quieter'],
    [['←', '→'], '5 s back, forward (HLS)'],
    [['F'], 'Full screen'],
    [['C'], 'Captions'],
    [['I'], 'Statistics'],
    [['?'], 'This list'],
    [['Esc'], 'Close'],
  ] as const,
  source: 'Camera',
  noSound: 'No sound',
} as const

/** Every text of the player. `speak` changes its language, before the first player is made. */
export const WORDS: Translated<typeof english> = { ...english }

/** What the player says in the place of the video. */
export interface Message {
  readonly title: string
  readonly text: string
}

/** What a viewer reads instead of a refusal, and what to do about it; `ended`: after a broadcast that was watched. */
export const MESSAGES: Readonly<
  Record<SluiceErrorCode | 'ended' | 'no_stream' | 'sound_only' | 'wrong_token', Message>
> = {
  ended: {
    title: 'The broadcast is over, or pauses',
    text: 'If it continues, it begins here by itself.',
  },
  no_stream: {
    title: 'No stream is named',
    text: 'The attribute “stream” of this player must be “account/name”.',
  },
  sound_only: { title: 'Sound only', text: 'This broadcast has no picture.' },
  invalid_token: {
    title: 'You need a link of your own',
    text: 'This stream is for people who have a valid token. Ask the person who sent you here for a new link.',
  },
  wrong_token: {
    title: 'Your link is not valid',
    text: 'Its token is incomplete, or was replaced or deleted. Ask the person who sent you here for a new link.',
  },
  token_disabled: {
    title: 'Your link is switched off',
    text: 'Its owner has disabled the token, and can enable it again.',
  },
  token_expired: { title: 'Your link has expired', text: 'Ask the person who sent you here for a new one.' },
  stream_name_not_allowed: {
    title: 'Your link is for another stream',
    text: 'The token is valid, but not for this stream. Check the address.',
  },
  origin_not_allowed: {
    title: 'Not on this web site',
    text: 'The owner of the stream allows it on other web sites only.',
  },
  address_not_allowed: {
    title: 'Not from this network',
    text: 'The token does not allow your network, or too many networks use it already.',
  },
  country_not_allowed: {
    title: 'Not in this country',
    text: 'The owner of the stream allows it in other countries only.',
  },
  stream_not_published: {
    title: 'This stream starts soon',
    text: 'There is no broadcast right now. It begins here by itself.',
  },
  at_another_node: { title: 'The stream is on another server', text: 'This player looks for it again by itself.' },
  codec_not_supported: {
    title: 'This browser cannot decode the stream',
    text: 'Another browser may be able to.',
  },
  bad_request: { title: 'The address is not valid', text: 'Check the name of the stream.' },
  not_found: { title: 'There is nothing at this address', text: 'Check the name of the stream.' },
  too_many: { title: 'Too many viewers', text: 'This player tries again in a moment.' },
  busy: { title: 'The server is busy', text: 'This player tries again in a moment.' },
  unexpected_answer: { title: 'The stream cannot be played', text: 'Try again, or use another browser.' },
  no_answer: { title: 'The server does not answer', text: 'Check your connection. This player tries again by itself.' },
  not_connected: {
    title: 'No connection for the video',
    text: 'Your network lets the page through, but not the video. Try another network.',
  },
  connection_lost: { title: 'The connection was lost', text: 'This player tries again by itself.' },
  moved: { title: 'The stream continues at another server', text: 'This player connects to it.' },
  ended_by_server: { title: 'The server ended the connection', text: 'This player asks for the reason.' },
  no_webrtc: { title: 'This browser has no WebRTC', text: 'Use a browser of this decade.' },
  cannot_send_codec: { title: 'This browser cannot send the codec', text: 'Choose another codec.' },
  stopped: { title: 'Stopped', text: '' },
}

/** What the file of another language has. */
export interface PlayerLanguage {
  readonly words: typeof WORDS
  readonly messages: typeof MESSAGES
}

/** Takes the texts of another language. */
export function speak({ words, messages }: PlayerLanguage): void {
  Object.assign(WORDS, words)
  Object.assign(MESSAGES, messages)
}
