import { words } from '../../words/words.ts'
import { renditionOf } from './renditions.ts'
import type { StreamEntry } from './streamEntry.ts'
import { expirySeconds, FLAGS, flagsOf, type FormFlag, type TokenForm, type TokenKind } from './tokenForm.ts'

const text = words.tokens.inWords

/** One part of a sentence; the important ones are bold. */
export interface Part {
  readonly text: string
  readonly isBold?: boolean
}

const plain = (written: string): Part => ({ text: written })
const bold = (written: string): Part => ({ text: written, isBold: true })

/** What a token of this form admits, as sentences. */
export function inWords(kind: TokenKind, form: TokenForm, until: string | null): readonly Part[] {
  const streams = form.streams.length === 0 ? text.noStream : form.streams.map(shownEntry).join(', ')
  return [
    plain(kind === 'publish' ? text.mayBroadcast : text.mayWatch),
    bold(streams),
    plain(`, ${placesOf(form)}`),
    ...(until === null ? [plain('.')] : [plain(`, ${text.until} `), bold(until), plain('.')]),
    ...(isSet(form.maxViewers) ? [plain(` ${text.viewers[kind](Number(form.maxViewers))}`)] : []),
    ...(kind === 'publish' ? [plain(` ${form.subscribeRequiresAuth ? text.viewersNeedToken : text.viewersOpen}`)] : []),
  ]
}

/** From where the token may be used. */
export function placesOf(form: TokenForm): string {
  const places = [
    ...(form.allowedOrigins.length > 0 ? [text.sites(form.allowedOrigins.join(', '))] : []),
    ...(form.allowedIpAddresses.length > 0 ? [text.addresses(form.allowedIpAddresses.join(', '))] : []),
    ...(isSet(form.bindIpsOnUsage) ? [text.bound(Number(form.bindIpsOnUsage))] : []),
    ...(form.countries.length > 0 ? [countriesOf(form)] : []),
  ]
  return places.length === 0 ? text.anywhere : places.join(` ${text.and} `)
}

const isSet = (count: string): boolean => count !== '' && count !== '0'

const countriesOf = ({ countryRule, countries }: TokenForm): string =>
  countryRule === 'allowed' ? text.countries(countries.join(', ')) : text.notCountries(countries.join(', '))

/** A pattern is shown between slashes. */
export const shownEntry = ({ streamName, isRegex }: StreamEntry): string => (isRegex ? `/${streamName}/` : streamName)

/** One argument of a command for a POSIX shell. */
export const quoted = (argument: string): string =>
  /^[\w.,:/@%+=-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`

/** The command that makes the same token. */
export function createCommand(kind: TokenKind, form: TokenForm, nowMs: number): string {
  const seconds = expirySeconds(form, nowMs)
  const countryFlag = form.countryRule === 'allowed' ? 'country' : 'deny-country'
  const flags = [
    ...(kind === 'subscribe' ? ['--kind subscribe'] : []),
    flag('label', form.label),
    ...form.streams.map(({ streamName, isRegex }) => flag(isRegex ? 'regex' : 'stream', streamName)),
    ...(seconds === undefined ? [] : [flag('expires', String(seconds))]),
    ...form.allowedOrigins.map((origin) => flag('origin', origin)),
    ...form.allowedIpAddresses.map((address) => flag('ip', address)),
    ...(form.bindIpsOnUsage === '' ? [] : [flag('bind', form.bindIpsOnUsage)]),
    ...(form.maxViewers === '' ? [] : [flag('max-viewers', form.maxViewers)]),
    ...form.countries.map((country) => flag(countryFlag, country)),
    ...flagsOf(kind).flatMap((name) => optionOf(name, form)),
    ...(kind === 'publish' && form.originCluster !== '' ? [flag('origin-cluster', form.originCluster)] : []),
    ...(kind === 'publish' ? form.geoCascade.map((region) => flag('geo-cascade', region)) : []),
    ...(kind === 'publish' && form.priority !== '' ? [`--priority=${form.priority}`] : []),
    ...(kind === 'publish' && form.recordingDays !== '' ? [flag('recording-days', form.recordingDays)] : []),
    ...(kind === 'publish' ? form.hlsRenditions.map(renditionFlag) : []),
    ...(kind === 'publish' && form.hlsCodecs !== 'h264' ? [flag('hls-codecs', form.hlsCodecs)] : []),
    ...(kind === 'subscribe' && form.trackingId !== '' ? [flag('tracking-id', form.trackingId)] : []),
  ]
  return ['sluice token create', ...flags].join(' \\\n  ')
}

function optionOf(name: FormFlag, form: TokenForm): readonly string[] {
  const { option, byDefault } = FLAGS[name]
  if (form[name] === byDefault) return []
  return [form[name] ? `--${option}` : `--no-${option}`]
}

function renditionFlag(entry: string): string {
  const { height, bitrate } = renditionOf(entry)
  return flag('rendition', `${height}:${bitrate}`)
}

const flag = (name: string, value: string): string => `--${name} ${quoted(value)}`
