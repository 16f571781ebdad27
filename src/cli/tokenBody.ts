import { err, ok, type Result } from '../base/result.ts'
import { invalid } from '../core/errors.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS, TOKEN_FLAGS, type TokenFlags } from '../core/tokens/flags.ts'
import { readJson } from '../core/validation/json.ts'
import type { Call } from './command.ts'
import { type CliFlag, textFlag, texts, toggleFlag, type ValuesOf, wholeFlag } from './flag.ts'
import { type CliRefusal, usage } from './refusal.ts'

type OptionOf<T extends TokenFlags> = {
  [F in keyof T]: T[F] extends { option: { name: infer N extends string } } ? N : never
}[keyof T]

/** The switches that make flags of a token true. */
function switches<T extends TokenFlags>(flags: T): Record<OptionOf<T>, CliFlag<boolean>> {
  const options = Object.values<TokenFlags[string]>(flags).flatMap(({ option }) => option ?? [])
  const made = options.map(({ name, about }) => [name, toggleFlag(about)] as const)
  return Object.fromEntries(made) as Record<OptionOf<T>, CliFlag<boolean>>
}

/** The flags of `token create`, each a field of the body of the HTTP API. */
export const BODY_FLAGS = {
  label: textFlag('LABEL', 'A display name; required without --body.'),
  stream: texts('NAME', 'A stream that the token covers, by its exact name.'),
  regex: texts('PATTERN', 'Streams that the token covers, by an RE2 pattern that must match the whole name.'),
  expires: wholeFlag('SECONDS', 'Seconds until the token expires; if omitted, never.', {
    min: 1,
    max: 2_147_483_647,
  }),
  ...switches(COMMON_FLAGS),
  origin: texts('ORIGIN', 'An origin that may use it: host or *.host, optionally with scheme and port.'),
  ip: texts('ADDRESS', 'An IPv4 address or CIDR block that may use it.'),
  bind: wholeFlag('N', 'Bind the first N distinct addresses that use it and refuse all others.', {
    max: 2_147_483_647,
  }),
  country: texts('CODE', 'A country that may use it (ISO 3166-1 alpha-2).'),
  'deny-country': texts('CODE', 'A country that may not use it.'),
  ...switches(PUBLISH_FLAGS),
  rendition: texts(
    'HEIGHT:BITRATE',
    'A smaller rendition for HLS: 480:1200000 is 480p with at most 1.2 Mbit/s (publish tokens).',
  ),
  'hls-codecs': textFlag('h264|source', 'The codecs of HLS: source keeps HEVC, AV1, VP9 and Opus (publish tokens).'),
  'tracking-id': textFlag('ID', 'Count the bytes of its viewers under this id (subscribe tokens).'),
  body: textFlag('JSON', 'The whole body as for the HTTP API, instead of the flags above; - reads standard input.'),
}

type Values = ValuesOf<typeof BODY_FLAGS>

const BODY_MAX_BYTES = 1_048_576

/** The body for `createToken`, from the flags or from `--body`. The command validates its content. */
export async function readBody(call: Call, flags: Values): Promise<Result<unknown, CliRefusal>> {
  if (flags.body === undefined) return fromFlags(flags)
  const beside = givenBeside(flags)
  if (beside !== undefined) return err(usage(`--body is the whole body; leave out --${beside}`))
  const given = flags.body === '-' ? await call.host.readStdin(BODY_MAX_BYTES) : ok(flags.body)
  if (!given.ok) return err(usage(`--body: ${given.error}`))
  const read = readJson(given.value)
  if (read.ok) return read
  const { message, errors } = read.error
  return err(errors ? invalid(errors) : usage(`--body ${message}`))
}

/** `480:1200000`. */
const RENDITION = /^(\d{1,9}):(\d{1,9})$/

function fromFlags(flags: Values): Result<unknown, CliRefusal> {
  if (flags.label === undefined) return err(usage('--label is required (or --body)'))
  if (flags.stream.length + flags.regex.length === 0) return err(usage('--stream or --regex is required (or --body)'))
  const malformed = flags.rendition.find((text) => !RENDITION.test(text))
  if (malformed !== undefined) return err(usage(`--rendition ${malformed} must be HEIGHT:BITRATE, such as 480:1200000`))
  const given: Readonly<Record<string, unknown>> = flags
  const body = {
    label: flags.label,
    streams: [
      ...flags.stream.map((streamName) => ({ streamName })),
      ...flags.regex.map((streamName) => ({ streamName, isRegex: true })),
    ],
    expires: flags.expires,
    allowedOrigins: filled(flags.origin),
    allowedIpAddresses: filled(flags.ip),
    bindIpsOnUsage: flags.bind,
    allowedCountries: filled(flags.country),
    deniedCountries: filled(flags['deny-country']),
    ...mapFlags(TOKEN_FLAGS, (_name, { option }) => (option && given[option.name]) || undefined),
    hlsRenditions: filled(flags.rendition)?.map(renditionOf),
    hlsCodecs: flags['hls-codecs'],
    tracking: flags['tracking-id'] === undefined ? undefined : { trackingId: flags['tracking-id'] },
  }
  return ok(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)))
}

function renditionOf(text: string): { height: number; bitrate: number } {
  const [, height, bitrate] = RENDITION.exec(text) ?? []
  return { height: Number(height), bitrate: Number(bitrate) }
}

const filled = (list: readonly string[]): readonly string[] | undefined => (list.length === 0 ? undefined : list)

/** The first other flag of the body that was set. */
function givenBeside(flags: Values): string | undefined {
  const others = Object.keys(BODY_FLAGS).filter((name) => name !== 'body') as (keyof Values)[]
  return others.find((name) => isGiven(flags[name]))
}

const isGiven = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
