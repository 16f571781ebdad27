import { isSame } from '../../parts/draft.ts'
import { type Span, SPANS } from '../../spans.ts'
import { type FeedRendition, renditionOf, shownRendition } from './renditions.ts'
import type { StreamEntry } from './streamEntry.ts'

export type TokenKind = 'publish' | 'subscribe'

/** Which of the two lists of countries a token has; they exclude each other. */
export type CountryRule = 'allowed' | 'denied'

/** Of HLS: H.264 and AAC, or what the publisher sends. */
export type HlsCodecs = 'h264' | 'source'

export type ExpiryChoice = 'never' | Span | 'date'

interface FlagFacts {
  readonly kinds: readonly TokenKind[]
  /** The value of a new token. */
  readonly byDefault: boolean
  /** The switches of `sluice token create`: `--NAME` makes it true, `--no-NAME` false. */
  readonly option: string
}

/** The switches of the form, in its order. Their words are in `words.tokens.form.switches`. */
export const FLAGS = {
  subscribeRequiresAuth: { kinds: ['publish'], byDefault: false, option: 'secure' },
  record: { kinds: ['publish'], byDefault: false, option: 'record' },
  enableThumbnails: { kinds: ['publish'], byDefault: false, option: 'thumbnails' },
  multisource: { kinds: ['publish'], byDefault: true, option: 'multisource' },
  enableUTCInsertion: { kinds: ['publish'], byDefault: false, option: 'utc-times' },
  transcode: { kinds: ['publish'], byDefault: false, option: 'transcode' },
  displaySrtPassphrase: { kinds: ['publish'], byDefault: false, option: 'srt-passphrase' },
  endSessionsOnUpdate: { kinds: ['publish', 'subscribe'], byDefault: true, option: 'end-sessions-on-update' },
  endAtExpiry: { kinds: ['publish', 'subscribe'], byDefault: false, option: 'end-at-expiry' },
} as const satisfies Readonly<Record<string, FlagFacts>>

export type FormFlag = keyof typeof FLAGS

/** The switches of a kind of token. */
export const flagsOf = (kind: TokenKind): readonly FormFlag[] =>
  FLAG_NAMES.filter((name) => FLAGS[name].kinds.some((one) => one === kind))

const FLAG_NAMES = Object.keys(FLAGS) as FormFlag[]

const eachFlag = (valueOf: (name: FormFlag) => boolean) =>
  Object.fromEntries(FLAG_NAMES.map((name) => [name, valueOf(name)])) as Record<FormFlag, boolean>

/** What the form of a token holds. Numbers are texts, as they are typed. */
export interface TokenForm extends Readonly<Record<FormFlag, boolean>> {
  readonly label: string
  readonly streams: readonly StreamEntry[]
  readonly allowedOrigins: readonly string[]
  readonly allowedIpAddresses: readonly string[]
  readonly bindIpsOnUsage: string
  readonly maxViewers: string
  readonly countries: readonly string[]
  readonly countryRule: CountryRule
  /** The region whose servers take its publishers, or `auto`; empty: as the account says. */
  readonly originCluster: string
  /** The regions whose servers show its streams, or `all`; empty: as the account says. */
  readonly geoCascade: readonly string[]
  readonly priority: string
  readonly recordingDays: string
  /** Renditions as they are typed: `480p:1200`, in kilobits a second. */
  readonly hlsRenditions: readonly string[]
  readonly hlsCodecs: HlsCodecs
  readonly trackingId: string
  readonly expires: ExpiryChoice
  /** Local date and time of an input, for the choice `date`. */
  readonly expiresAt: string
}

/** What the form reads of a stored token. */
export interface StoredToken extends Readonly<Partial<Record<FormFlag, boolean | undefined>>> {
  readonly label: string
  readonly streams: readonly StreamEntry[]
  readonly allowedOrigins: readonly string[]
  readonly allowedIpAddresses: readonly string[]
  readonly bindIpsOnUsage?: number | undefined
  readonly maxViewers?: number | undefined
  readonly allowedCountries: readonly string[]
  readonly deniedCountries: readonly string[]
  readonly originCluster?: string | undefined
  readonly geoCascade?: { readonly clusters: readonly string[] } | undefined
  readonly priority?: number | undefined
  readonly recordingDays?: number | undefined
  readonly hlsRenditions?: readonly FeedRendition[] | undefined
  readonly hlsCodecs?: 'source' | undefined
  readonly tracking?: { readonly trackingId?: string | undefined } | undefined
}

export const emptyForm: TokenForm = {
  label: '',
  streams: [],
  allowedOrigins: [],
  allowedIpAddresses: [],
  bindIpsOnUsage: '',
  maxViewers: '',
  countries: [],
  countryRule: 'allowed',
  ...eachFlag((name) => FLAGS[name].byDefault),
  originCluster: '',
  geoCascade: [],
  priority: '',
  recordingDays: '',
  hlsRenditions: [],
  hlsCodecs: 'h264',
  trackingId: '',
  expires: 'never',
  expiresAt: '',
}

/** The form of a stored token. */
export function formOf(token: StoredToken): TokenForm {
  const isDenied = token.deniedCountries.length > 0
  return {
    ...emptyForm,
    label: token.label,
    streams: token.streams,
    allowedOrigins: token.allowedOrigins,
    allowedIpAddresses: token.allowedIpAddresses,
    bindIpsOnUsage: token.bindIpsOnUsage ? String(token.bindIpsOnUsage) : '',
    maxViewers: token.maxViewers ? String(token.maxViewers) : '',
    countries: isDenied ? token.deniedCountries : token.allowedCountries,
    countryRule: isDenied ? 'denied' : 'allowed',
    ...eachFlag((name) => token[name] ?? FLAGS[name].byDefault),
    originCluster: token.originCluster ?? '',
    geoCascade: token.geoCascade?.clusters ?? [],
    priority: String(token.priority ?? ''),
    recordingDays: String(token.recordingDays ?? ''),
    hlsRenditions: (token.hlsRenditions ?? []).map(shownRendition),
    hlsCodecs: token.hlsCodecs ?? 'h264',
    trackingId: token.tracking?.trackingId ?? '',
  }
}

/** Seconds until the token expires; undefined: never. */
export function expirySeconds({ expires, expiresAt }: TokenForm, nowMs: number): number | undefined {
  if (expires === 'never') return undefined
  if (expires !== 'date') return SPANS[expires]
  const at = Date.parse(expiresAt)
  return Number.isNaN(at) ? undefined : Math.round((at - nowMs) / 1000)
}

const whole = (text: string): number | undefined => (text.trim() === '' ? undefined : Number(text))

/** The body of a new token. Defaults are left out. */
export function newTokenBody(kind: TokenKind, form: TokenForm, nowMs: number): Record<string, unknown> {
  const body = {
    label: form.label,
    streams: form.streams,
    expires: expirySeconds(form, nowMs),
    allowedOrigins: filled(form.allowedOrigins),
    allowedIpAddresses: filled(form.allowedIpAddresses),
    bindIpsOnUsage: whole(form.bindIpsOnUsage),
    maxViewers: whole(form.maxViewers),
    [`${form.countryRule}Countries`]: filled(form.countries),
    ...changedFlags(kind, emptyForm, form),
    ...(kind === 'publish' ? publishBody(form) : trackingBody(form)),
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

const changedFlags = (kind: TokenKind, before: TokenForm, now: TokenForm) =>
  Object.fromEntries(flagsOf(kind).map((name) => [name, changed(before[name], now[name])]))

const publishBody = ({ originCluster, geoCascade, priority, recordingDays, hlsRenditions, hlsCodecs }: TokenForm) => ({
  originCluster: originCluster.trim() || undefined,
  geoCascade: cascadeChange([], geoCascade),
  priority: whole(priority),
  recordingDays: whole(recordingDays),
  hlsRenditions: filled(hlsRenditions)?.map(renditionOf),
  hlsCodecs: changed(emptyForm.hlsCodecs, hlsCodecs),
})

const trackingBody = ({ trackingId }: TokenForm) => ({
  tracking: trackingId === '' ? undefined : { trackingId },
})

const filled = <T>(list: readonly T[]): readonly T[] | undefined => (list.length === 0 ? undefined : list)

/**
 * The body of an edit: only what differs, so that two people who edit different fields do not undo each other.
 * Empty: nothing differs.
 */
export function changesBody(kind: TokenKind, before: TokenForm, now: TokenForm): Record<string, unknown> {
  const changes = {
    label: changed(before.label, now.label),
    ...streamChanges(before.streams, now.streams),
    allowedOrigins: changed(before.allowedOrigins, now.allowedOrigins),
    allowedIpAddresses: changed(before.allowedIpAddresses, now.allowedIpAddresses),
    bindIpsOnUsage: changed(whole(before.bindIpsOnUsage) ?? 0, whole(now.bindIpsOnUsage) ?? 0),
    maxViewers: changed(whole(before.maxViewers) ?? 0, whole(now.maxViewers) ?? 0),
    ...countryChanges(before, now),
    ...changedFlags(kind, before, now),
    ...(kind === 'publish'
      ? {
          originCluster: changed(before.originCluster, now.originCluster.trim()),
          geoCascade: cascadeChange(before.geoCascade, now.geoCascade),
          priority: changed(whole(before.priority) ?? null, whole(now.priority) ?? null),
          recordingDays: changed(whole(before.recordingDays) ?? null, whole(now.recordingDays) ?? null),
          hlsRenditions: changed(before.hlsRenditions.map(renditionOf), now.hlsRenditions.map(renditionOf)),
          hlsCodecs: changed(before.hlsCodecs, now.hlsCodecs),
        }
      : {}),
  }
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
}

function countryChanges(before: TokenForm, now: TokenForm): Record<string, readonly string[]> {
  if (isSame(before.countries, now.countries) && before.countryRule === now.countryRule) return {}
  const [allowed, denied] = now.countryRule === 'allowed' ? [now.countries, []] : [[], now.countries]
  return { allowedCountries: allowed, deniedCountries: denied }
}

/** Names are unique in a token, so an entry whose kind changes is removed and added. */
function streamChanges(before: readonly StreamEntry[], now: readonly StreamEntry[]): Record<string, unknown> {
  const removed = before.filter((one) => !now.some((other) => isSame(one, other))).map(({ streamName }) => streamName)
  const added = now.filter((one) => !before.some((other) => isSame(one, other)))
  return { addTokenStreams: filled(added), removeTokenStreams: filled(removed) }
}

const cascadeChange = (before: readonly string[], clusters: readonly string[]) =>
  isSame(before, clusters) ? undefined : { isEnabled: clusters.length > 0, clusters }

const changed = <T>(before: T, now: T): T | undefined => (isSame(before, now) ? undefined : now)

/**
 * The error of a field of the form, from the errors by path of the body. An error of one entry of a list begins with
 * the entry: the index alone says nothing to a person.
 */
export function errorOf(
  errors: Readonly<Record<string, string>>,
  field: string,
  list: readonly string[] = [],
): string | undefined {
  const found = Object.entries(errors).find(
    ([path]) => path === field || (/^[.[]/.test(path.slice(field.length)) && path.startsWith(field)),
  )
  if (!found) return undefined
  const index = /^\[(\d+)\]/.exec(found[0].slice(field.length))?.[1]
  const entry = index === undefined ? undefined : list[Number(index)]
  return entry === undefined ? found[1] : `${entry}: ${found[1]}`
}

/** True: no field of the form shows the error, so it stands above the form. */
export const isGeneral = (errors: Readonly<Record<string, string>>): boolean =>
  !FIELDS.some((field) => errorOf(errors, field) !== undefined)

const FIELDS = [
  'label',
  'streams',
  'addTokenStreams',
  'removeTokenStreams',
  'expires',
  'allowedOrigins',
  'allowedIpAddresses',
  'bindIpsOnUsage',
  'maxViewers',
  'allowedCountries',
  'deniedCountries',
  'originCluster',
  'geoCascade',
  'priority',
  'recordingDays',
  'hlsRenditions',
  'hlsCodecs',
  'tracking',
]
