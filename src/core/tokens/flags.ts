/** What there is to say of one boolean field of a token. */
export interface TokenFlagFacts {
  /** Of the table `tokens`. */
  readonly column: string
  /** The value of a new token. */
  readonly byDefault: boolean
  /** For the API documents. */
  readonly about: string
  /** The switches of the command line: `--NAME` makes it true, `--no-NAME` false. */
  readonly option: { readonly name: string; readonly on: string; readonly off: string }
}

export type TokenFlags<F extends string = string> = Readonly<Record<F, TokenFlagFacts>>

/**
 * The boolean fields that creates and updates set, each once. Types, schemas, defaults, updates, columns, records and the
 * command line derive from these tables.
 */
export const COMMON_FLAGS = {
  endSessionsOnUpdate: {
    column: 'end_sessions_on_update',
    byDefault: true,
    about:
      'true (the default): an edit that no longer admits a live session ends it. false: edits act on new sessions only.',
    option: {
      name: 'end-sessions-on-update',
      on: 'An edit ends the sessions that it no longer admits.',
      off: 'Edits apply to new sessions only.',
    },
  },
  endAtExpiry: {
    column: 'end_at_expiry',
    byDefault: false,
    about:
      'true: its sessions end when it expires, those of a self-signed token also at its own `exp`. false (the default): they go on.',
    option: {
      name: 'end-at-expiry',
      on: 'Sessions end when the token expires; by default they go on.',
      off: 'Sessions go on when the token expires.',
    },
  },
} as const satisfies TokenFlags

/** Those of publish tokens. They are false on subscribe tokens. */
export const PUBLISH_FLAGS = {
  subscribeRequiresAuth: {
    column: 'subscribe_requires_auth',
    byDefault: false,
    about: 'Viewers of the streams need a subscribe token. Default false.',
    option: {
      name: 'secure',
      on: 'Viewers of the streams need a subscribe token (publish tokens).',
      off: 'Viewers of the streams need no token (publish tokens).',
    },
  },
  record: {
    column: 'record',
    byDefault: false,
    about: 'Record what is published. Default false.',
    option: {
      name: 'record',
      on: 'Record what is published (publish tokens).',
      off: 'Record nothing (publish tokens).',
    },
  },
  enableThumbnails: {
    column: 'enable_thumbnails',
    byDefault: false,
    about: 'Take a thumbnail of the published video periodically. Default false.',
    option: {
      name: 'thumbnails',
      on: 'Take thumbnails of the published video (publish tokens).',
      off: 'Take no thumbnails (publish tokens).',
    },
  },
  multisource: {
    column: 'multisource',
    byDefault: true,
    about: 'Several sources may publish under one stream name. Default true.',
    option: {
      name: 'multisource',
      on: 'Several sources may publish under one stream name (publish tokens).',
      off: 'One source may publish under a stream name; a new one replaces it (publish tokens).',
    },
  },
  enableUTCInsertion: {
    column: 'enable_utc_insertion',
    byDefault: false,
    about:
      'Write the time of its arrival into each picture of H.264 that comes over RTMP and SRT. Default false. The address of a ' +
      'publisher wins.',
    option: {
      name: 'utc-times',
      on: 'Write the time of its arrival into each picture of H.264 over RTMP and SRT (publish tokens).',
      off: 'Write no times into pictures (publish tokens).',
    },
  },
  transcode: {
    column: 'transcode',
    byDefault: false,
    about:
      'Encode H.264 for viewers over WHEP who lack the codec of the video, while there are some and the machine has room. HLS of ' +
      'broadcasts over WHIP has the same H.264. Default false.',
    option: {
      name: 'transcode',
      on: 'Encode H.264 for viewers over WHEP who lack the codec (publish tokens).',
      off: 'Refuse viewers over WHEP who lack the codec (publish tokens).',
    },
  },
  displaySrtPassphrase: {
    column: 'display_srt_passphrase',
    byDefault: false,
    about: 'Show `srtPassphrase`, with which publishers over SRT encrypt. Default false.',
    option: {
      name: 'srt-passphrase',
      on: 'Show the passphrase for SRT with the token (publish tokens).',
      off: 'Do not show the passphrase for SRT (publish tokens).',
    },
  },
} as const satisfies TokenFlags

export const TOKEN_FLAGS = { ...COMMON_FLAGS, ...PUBLISH_FLAGS }

export type TokenFlag = keyof typeof TOKEN_FLAGS
type TokenFlagColumn = (typeof TOKEN_FLAGS)[TokenFlag]['column']

export const flagNames = <F extends string>(flags: TokenFlags<F>): readonly F[] => Object.keys(flags) as F[]

/** An object with the same names: the schemas of flags, or their values. A loop, because every row of a list passes it. */
export function mapFlags<F extends string, V>(
  flags: TokenFlags<F>,
  make: (name: F, facts: TokenFlagFacts) => V,
): Record<F, V> {
  const made: Partial<Record<F, V>> = {}
  for (const name in flags) made[name] = make(name, flags[name])
  return made as Record<F, V>
}

export const pickFlags = <F extends string>(
  flags: TokenFlags<F>,
  from: Readonly<Record<NoInfer<F>, boolean>>,
): Record<F, boolean> => mapFlags(flags, (name) => from[name])

/** An object with the columns of all flags. */
export function mapFlagColumns<V>(make: (name: TokenFlag) => V): Record<TokenFlagColumn, V> {
  const made: Partial<Record<TokenFlagColumn, V>> = {}
  let name: TokenFlag
  for (name in TOKEN_FLAGS) made[TOKEN_FLAGS[name].column] = make(name)
  return made as Record<TokenFlagColumn, V>
}
