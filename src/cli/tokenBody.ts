import { quote } from '../base/quote.ts'
import { err, ok, type Result } from '../base/result.ts'
import { invalid } from '../core/errors.ts'
import { type FeedRendition, HLS_CODECS } from '../core/hls/feedRungs.ts'
import { TOKEN_FLAGS, type TokenFlagFacts } from '../core/tokens/flags.ts'
import { TOKEN_LIMITS } from '../core/tokens/types.ts'
import { readJson } from '../core/validation/json.ts'
import type { Call, CommandResult } from './command.ts'
import { choiceOrNone, type CliFlag, type Flags, textFlag, texts, toggleFlag, wholeFlag, wholeOrWord } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

/** `480:1200000`. */
const RENDITION = /^(\d{1,9}):(\d{1,9})$/

const renditions: CliFlag<readonly FeedRendition[]> = {
  placeholder: 'HEIGHT:BITRATE',
  about: 'A smaller rendition for HLS: 480:1200000 is 480p with at most 1.2 Mbit/s (publish tokens).',
  required: false,
  many: true,
  read: (given) => {
    const malformed = given.find((text) => !RENDITION.test(text))
    if (malformed !== undefined) return err(`must be HEIGHT:BITRATE, such as 480:1200000, not ${quote(malformed)}`)
    return ok(given.map(renditionOf))
  },
}

function renditionOf(text: string): FeedRendition {
  const [, height, bitrate] = RENDITION.exec(text) ?? []
  return { height: Number(height), bitrate: Number(bitrate) }
}

const INT32_MAX = 2_147_483_647

export const PRIORITY_FLAG = wholeOrWord(
  'none',
  'The rank of its publishers among those of one source: the highest is shown, none is the lowest (publish tokens).',
  { min: -INT32_MAX - 1, max: INT32_MAX },
)

interface BodyField {
  /** The name of its flag. */
  readonly name: string
  readonly flag: CliFlag<unknown>
  /** Absent: the field is the value of the flag. */
  readonly fieldOf?: (value: unknown) => unknown
}

const LABEL = textFlag('LABEL', 'A display name.')

/** The fields that creates and updates set, by their names in the HTTP API. `TOKEN_FLAGS` has those that are true or false. */
const FIELDS: Readonly<Record<string, BodyField>> = {
  label: { name: 'label', flag: LABEL },
  allowedOrigins: {
    name: 'origin',
    flag: texts('ORIGIN', 'An origin that may use it: host or *.host, optionally with scheme and port.'),
  },
  allowedIpAddresses: { name: 'ip', flag: texts('ADDRESS', 'An IPv4 address or CIDR block that may use it.') },
  bindIpsOnUsage: {
    name: 'bind',
    flag: wholeFlag('N', 'Bind the first N distinct addresses that use it and refuse all others; 0: none.', {
      max: INT32_MAX,
    }),
  },
  maxViewers: {
    name: 'max-viewers',
    flag: wholeFlag('N', 'The most concurrent viewers with it, or of each stream of a publish token; 0: no limit.', {
      max: TOKEN_LIMITS.viewersMax,
    }),
  },
  allowedCountries: { name: 'country', flag: texts('CODE', 'A country that may use it (ISO 3166-1 alpha-2).') },
  deniedCountries: { name: 'deny-country', flag: texts('CODE', 'A country that may not use it.') },
  originCluster: {
    name: 'origin-cluster',
    flag: textFlag('REGION', 'Only servers of this region take its publishers; auto: all do (publish tokens).'),
  },
  geoCascade: {
    name: 'geo-cascade',
    flag: texts(
      'REGION',
      'Servers of this region show its streams, beside those of the publisher; all: every server (publish tokens).',
    ),
    fieldOf: (clusters) => ({ isEnabled: isGiven(clusters), clusters }),
  },
  priority: { name: 'priority', flag: PRIORITY_FLAG },
  recordingDays: {
    name: 'recording-days',
    flag: wholeOrWord(
      'account',
      'Delete its recordings after N days; 0: keep them; account: as the account says (publish tokens).',
      { min: 0, max: TOKEN_LIMITS.recordingDaysMax },
    ),
  },
  hlsRenditions: { name: 'rendition', flag: renditions },
  hlsCodecs: {
    name: 'hls-codecs',
    flag: choiceOrNone(HLS_CODECS, 'The codecs of HLS: source keeps HEVC, AV1, VP9 and Opus (publish tokens).'),
  },
}

const SWITCHES: readonly (readonly [string, TokenFlagFacts])[] = Object.entries(TOKEN_FLAGS)

type Entries = readonly (readonly [string, CliFlag<unknown>])[]

const fieldFlags: Entries = Object.values(FIELDS).map(({ name, flag }) => [name, flag])

/** An update can empty each list. */
const emptying: Entries = Object.values(FIELDS)
  .filter(({ flag }) => flag.many)
  .map(({ name }) => [`no-${name}`, toggleFlag(`Remove all that --${name} has set.`)])

/** A new token needs only the switches that differ from its defaults. */
const switches = (kinds: 'all' | 'changing'): Entries =>
  SWITCHES.flatMap(([, { byDefault, option }]): Entries => {
    const all: Entries = [
      [option.name, toggleFlag(option.on)],
      [`no-${option.name}`, toggleFlag(option.off)],
    ]
    return kinds === 'all' ? all : all.slice(byDefault ? 1 : 0, byDefault ? 2 : 1)
  })

const BODY = textFlag('JSON', 'The whole body as for the HTTP API, instead of the flags above; - reads standard input.')

/** The flags of `token create` that make its body. */
export const CREATE_FLAGS: Flags = {
  label: LABEL,
  stream: texts('NAME', 'A stream that the token covers, by its exact name.'),
  regex: texts('PATTERN', 'Streams that the token covers, by an RE2 pattern that must match the whole name.'),
  expires: wholeFlag('SECONDS', 'Seconds until the token expires; if omitted, never.', {
    min: 1,
    max: INT32_MAX,
  }),
  ...Object.fromEntries([...fieldFlags, ...switches('changing')]),
  'tracking-id': textFlag('ID', 'Count the bytes of its viewers under this id (subscribe tokens).'),
  body: BODY,
}

/** The flags of `token update` that make its body. */
export const UPDATE_FLAGS: Flags = {
  ...Object.fromEntries([...fieldFlags, ...emptying, ...switches('all')]),
  'add-stream': texts('NAME', 'A stream that the token covers from now on, by its exact name.'),
  'add-regex': texts('PATTERN', 'Streams that the token covers from now on, by an RE2 pattern.'),
  'remove-stream': texts('NAME', 'A name or pattern to take away.'),
  refresh: toggleFlag('Give it a new value. Sluice refuses the old one at once and ends its sessions.'),
  body: BODY,
}

type Values = Readonly<Record<string, unknown>>
type Body = CommandResult<unknown>

/** The body of a create, from the flags or from `--body`. The command validates its content. */
export const createBody = (call: Call): Body => readBody(call, CREATE_FLAGS, newToken)

/** The same of an update. */
export const updateBody = (call: Call): Body => readBody(call, UPDATE_FLAGS, changes)

const BODY_MAX_BYTES = 1_048_576

async function readBody(
  { flags, host }: Call,
  known: Flags,
  fromFlags: (flags: Values) => Result<unknown, CliRefusal>,
): Body {
  const { body } = flags
  if (typeof body !== 'string') return fromFlags(flags)
  const beside = Object.keys(known).find((name) => name !== 'body' && isGiven(flags[name]))
  if (beside !== undefined) return err(usage(`--body is the whole body; leave out --${beside}`))
  const given = body === '-' ? await host.readStdin(BODY_MAX_BYTES) : ok(body)
  if (!given.ok) return err(usage(`--body: ${given.error}`))
  const read = readJson(given.value)
  if (read.ok) return read
  const { message, errors } = read.error
  return err(errors ? invalid(errors) : usage(`--body ${message}`))
}

function newToken(flags: Values): Result<unknown, CliRefusal> {
  const streams = entriesOf(flags['stream'], flags['regex'])
  if (!isGiven(flags['label'])) return err(usage('--label is required (or --body)'))
  if (streams.length === 0) return err(usage('--stream or --regex is required (or --body)'))
  const { expires, 'tracking-id': trackingId } = flags
  const set = fieldsOf(flags)
  if (!set.ok) return set
  return ok({
    ...set.value,
    streams,
    ...(isGiven(expires) ? { expires } : {}),
    ...(isGiven(trackingId) ? { tracking: { trackingId } } : {}),
  })
}

function changes(flags: Values): Result<unknown, CliRefusal> {
  const added = entriesOf(flags['add-stream'], flags['add-regex'])
  const { 'remove-stream': removed, refresh } = flags
  const set = fieldsOf(flags)
  if (!set.ok) return set
  const body = {
    ...set.value,
    ...(added.length > 0 ? { addTokenStreams: added } : {}),
    ...(isGiven(removed) ? { removeTokenStreams: removed } : {}),
    ...(isGiven(refresh) ? { refreshToken: true } : {}),
  }
  return Object.keys(body).length > 0 ? ok(body) : err(usage('there is nothing to change: set a flag, or --body'))
}

const entriesOf = (names: unknown, patterns: unknown): object[] => [
  ...(names as readonly string[]).map((streamName) => ({ streamName })),
  ...(patterns as readonly string[]).map((streamName) => ({ streamName, isRegex: true })),
]

/** The fields that flags set. `--no-NAME` empties a list and makes a switch false. */
function fieldsOf(flags: Values): Result<Values, CliRefusal> {
  const same = (value: unknown): unknown => value
  const lists = Object.entries(FIELDS).map(([field, { name, fieldOf = same }]) => ({ field, name, none: [], fieldOf }))
  const booleans = SWITCHES.map(([field, { option }]) => ({ field, name: option.name, none: false, fieldOf: same }))
  const body: Record<string, unknown> = {}
  for (const { field, name, none, fieldOf } of [...lists, ...booleans]) {
    const [given, isNone] = [isGiven(flags[name]), isGiven(flags[`no-${name}`])]
    if (given && isNone) return err(usage(`--${name} and --no-${name} exclude each other`))
    if (given) body[field] = fieldOf(flags[name])
    if (isNone) body[field] = fieldOf(none)
  }
  return ok(body)
}

const isGiven = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
