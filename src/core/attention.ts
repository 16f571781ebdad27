import { rounded } from '../base/numbers.ts'
import { isoTime, DAY_MS, HOUR_MS } from '../base/time.ts'
import { daysLeft, expiresSoon, type Validity } from './certificates/renewal.ts'
import type { EngineMessage } from './channels/types.ts'
import type { FullReason, MediaProcessEnd } from './nodes/load.ts'
import type { LinkProblem } from './nodes/nodeLinks.ts'
import { coded, type CodedSentence, noticeText, type Said, sentencesOf } from './notices.ts'
import type { SourceFinding } from './streams/findings.ts'
import type { StreamHealth } from './streams/health.ts'
import type { SourceReading } from './streams/source.ts'
import { pauseOf } from './webhooks/route.ts'
import type { Disabled } from './webhooks/types.ts'

/**
 * What needs a person: one list for the dashboard, `GET /api/attention` and `sluice doctor`, made of facts that the caller
 * has read.
 */
export type AttentionKind = (typeof ATTENTION_KINDS)[number]

export const ATTENTION_KINDS = [
  'node_full',
  'engine_error',
  'media_process_ended',
  'recordings_closed',
  'disk_low',
  'certificate_expires',
  'certificate_kept',
  'schema_newer',
  'node_unlinked',
  'webhook_paused',
  'stream_stalled',
  'stream_uneven',
  'stream_impaired',
  'engine_notice',
  'addons_missing',
  'countries_unknown',
  'token_expires',
] as const

export interface AttentionItem {
  readonly kind: AttentionKind
  /** `error`: something does not work now. `warning`: it will not, or not well. */
  readonly severity: 'error' | 'warning'
  /** What is wrong, and what to do. */
  readonly text: string
  /** The same as data: what `text` says, sentence by sentence. */
  readonly sentences: readonly CodedSentence[]
  /** What it is about, by its id in the interface; absent: the server. */
  readonly subject?: {
    readonly type: 'webhook' | 'publish_token' | 'subscribe_token' | 'engine' | 'stream'
    readonly id: string
  }
  /** When a pause ends or a token expires. */
  readonly until?: string
}

export interface AttentionFacts {
  readonly nowMs: number
  readonly hasCountries: boolean
  readonly webhooks: readonly {
    readonly id: string
    readonly url: string
    readonly disabled: Disabled | null
  }[]
  /** Active tokens that expire within `EXPIRES_SOON_MS`. */
  readonly expiring: readonly { kind: 'publish' | 'subscribe'; id: number; label: string; expiresAtMs: number }[]
  /** Tokens that name countries; counted only without a country database. */
  readonly namingCountries: number
  /** The account names countries for tokens that name none. */
  readonly accountNamesCountries: boolean
  /** Engines that are not stopped. */
  readonly engines: readonly { id: string; name: string; status: string; statusMessage: EngineMessage | null }[]
  readonly streams: readonly {
    readonly streamName: string
    readonly health: StreamHealth
    readonly findings: readonly Pick<SourceFinding, 'code' | 'shown' | 'text' | 'advice'>[]
    readonly source?: Pick<SourceReading, 'declaredFrameRate' | 'videoProfile'>
    readonly bitrateLowest?: number
    readonly bitrateHighest?: number
  }[]
  readonly disks: readonly {
    readonly what: 'database' | 'recordings'
    readonly freeBytes: number
    readonly totalBytes: number
  }[]
  /** Why the directory of recordings cannot be used, as a code of the system; null: it can. */
  readonly recordingsProblem: string | null
  /** What it costs that addons are missing; null: none is. */
  readonly addonProblem: string | null
  /** Migrations in the database that this version does not know. */
  readonly unknownMigrations: readonly string[]
  /** Nodes that take no new viewers, and why; the name is null if there is only one node. */
  readonly fullNodes: readonly { readonly name: string | null; readonly full: readonly FullReason[] }[]
  /** Nodes whose streams do not come to another one, and why. */
  readonly unlinkedNodes: readonly { readonly from: string; readonly to: string; readonly problem: LinkProblem }[]
  /** Of each node, the latest media process that ended by itself or hung; the name is null if there is only one node. */
  readonly mediaProcessEnds: readonly (MediaProcessEnd & { readonly name: string | null })[]
  /** Of TLS; null: Sluice speaks none. `isTemporary`: no client trusts it. `problem`: why it could not be replaced. */
  readonly certificate: (Validity & { readonly isTemporary: boolean; readonly problem: Said | null }) | null
}

/** For so long a media process that ended is shown. */
const ENDED_SHOWN_MS = HOUR_MS
export const EXPIRES_SOON_MS = 7 * DAY_MS
/** Nearly full: less than this is free, or this share of a smaller disk. */
const DISK_LOW_BYTES = 5_000_000_000
const DISK_LOW_SHARE = 0.05

/** Errors first; then in the order of `ATTENTION_KINDS`. */
export function attentionOf(facts: AttentionFacts): AttentionItem[] {
  const items = [
    ...fullNodesOf(facts),
    ...unlinkedNodesOf(facts),
    ...enginesOf(facts),
    ...mediaProcessesOf(facts),
    ...recordingsOf(facts),
    ...disksOf(facts),
    ...certificateOf(facts),
    ...schemaOf(facts),
    ...webhooksOf(facts),
    ...streamsOf(facts),
    ...addonsOf(facts),
    ...countriesOf(facts),
    ...tokensOf(facts),
  ]
  const rank = ({ kind, severity }: AttentionItem): number =>
    ATTENTION_KINDS.indexOf(kind) + (severity === 'error' ? 0 : ATTENTION_KINDS.length)
  return items.toSorted((a, b) => rank(a) - rank(b))
}

type About = Pick<AttentionItem, 'kind' | 'subject' | 'until'>

const item = (severity: AttentionItem['severity'], about: About, ...sentences: CodedSentence[]): AttentionItem => ({
  ...about,
  severity,
  text: noticeText(sentences),
  sentences,
})
const error = (about: About, ...sentences: CodedSentence[]): AttentionItem => item('error', about, ...sentences)
const warning = (about: About, ...sentences: CodedSentence[]): AttentionItem => item('warning', about, ...sentences)
/** What another part of Sluice says. */
const said = (text: string): CodedSentence => coded('text', { text })

function enginesOf({ engines }: AttentionFacts): AttentionItem[] {
  return engines.flatMap(({ id, name, status, statusMessage: message }): AttentionItem[] => {
    const subject = { type: 'engine', id } as const
    const own = message === null ? [said('unknown')] : sentencesOf({ ...message, message: message.text })
    if (status === 'error') return [error({ kind: 'engine_error', subject }, coded('engine_fails', { name }), ...own)]
    if (message === null || status === 'waiting') return []
    return [warning({ kind: 'engine_notice', subject }, coded('engine', { name }), ...own)]
  })
}

const fullNodesOf = ({ fullNodes }: AttentionFacts): AttentionItem[] =>
  fullNodes.map(({ name, full }) =>
    error(
      { kind: 'node_full' },
      name === null ? coded('server_full') : coded('node_full', { node: name }),
      ...full.map((reason) => coded(`full_${reason}`)),
      coded('full_remedy'),
    ),
  )

const unlinkedNodesOf = ({ unlinkedNodes }: AttentionFacts): AttentionItem[] =>
  unlinkedNodes.map(({ from, to, problem }) =>
    warning({ kind: 'node_unlinked' }, coded('unlinked', { from, to }), coded(`link_${problem}`)),
  )

const mediaProcessesOf = ({ mediaProcessEnds, nowMs }: AttentionFacts): AttentionItem[] =>
  mediaProcessEnds
    .filter(({ atMs }) => nowMs - atMs < ENDED_SHOWN_MS)
    .map(({ name, atMs, isHung, sessions }) => {
      const code = isHung ? 'media_process_hung' : 'media_process_died'
      return warning(
        { kind: 'media_process_ended', until: isoTime(atMs + ENDED_SHOWN_MS) },
        name === null ? coded(code) : coded(`node_${code}`, { node: name }),
        sessions === 1 ? coded('lost_session') : coded('lost_sessions', { sessions }),
        coded('look_into_log'),
      )
    })

const recordingsOf = ({ recordingsProblem: code }: AttentionFacts): AttentionItem[] =>
  code === null ? [] : [error({ kind: 'recordings_closed' }, coded('recordings_closed', { code }))]

function disksOf({ disks }: AttentionFacts): AttentionItem[] {
  const low = disks.filter(
    ({ freeBytes, totalBytes }) => freeBytes < Math.min(DISK_LOW_BYTES, totalBytes * DISK_LOW_SHARE),
  )
  return low.map(({ what, freeBytes }) =>
    error({ kind: 'disk_low' }, coded(`disk_low_${what}`, { gigabytes: rounded(freeBytes / 1e9, 10) })),
  )
}

function certificateOf({ certificate, nowMs }: AttentionFacts): AttentionItem[] {
  if (certificate === null) return []
  const { expiresMs, isTemporary, problem } = certificate
  const until = isoTime(expiresMs)
  // While the first one is under way, there is nothing to do.
  if (isTemporary)
    return problem === null
      ? []
      : [error({ kind: 'certificate_kept' }, coded('certificate_temporary'), ...sentencesOf(problem))]
  const items: AttentionItem[] = []
  const about = { kind: 'certificate_expires', until } as const
  const renew = coded('certificate_renew')
  if (expiresMs <= nowMs) items.push(error(about, coded('certificate_expired'), renew))
  else if (expiresSoon(certificate, nowMs))
    items.push(warning(about, coded('certificate_expires', { days: daysLeft(certificate, nowMs) }), renew))
  if (problem !== null)
    items.push(warning({ kind: 'certificate_kept', until }, coded('certificate_kept'), ...sentencesOf(problem)))
  return items
}

const schemaOf = ({ unknownMigrations }: AttentionFacts): AttentionItem[] =>
  unknownMigrations.length === 0
    ? []
    : [warning({ kind: 'schema_newer' }, coded('schema_newer', { migrations: unknownMigrations.join(', ') }))]

function webhooksOf({ webhooks, nowMs }: AttentionFacts): AttentionItem[] {
  return webhooks.flatMap(({ id, url, disabled }): AttentionItem[] => {
    const pause = pauseOf({ disabled }, nowMs)
    if (pause === null) return []
    const about = {
      kind: 'webhook_paused',
      subject: { type: 'webhook', id },
      until: isoTime(pause.untilMs),
    } as const
    return [error(about, coded('webhook_paused', { host: hostOf(url) }), ...pause.reason)]
  })
}

function streamsOf({ streams }: AttentionFacts): AttentionItem[] {
  return streams.flatMap(({ streamName: stream, health, findings, ...rest }): AttentionItem[] => {
    const subject = { type: 'stream', id: stream } as const
    if (health === 'stalled') return [error({ kind: 'stream_stalled', subject }, coded('stream_stalled', { stream }))]
    if (health === 'impaired')
      return [
        warning(
          { kind: 'stream_impaired', subject },
          coded('stream_impaired', { stream }),
          ...sentencesAbout(findings, rest.source),
        ),
      ]
    if (health !== 'uneven') return []
    const range = { lowest: megabits(rest.bitrateLowest), highest: megabits(rest.bitrateHighest) }
    return [warning({ kind: 'stream_uneven', subject }, coded('stream_uneven', { stream, ...range }))]
  })
}

type StreamFacts = AttentionFacts['streams'][number]

/** The worst, and how many more there are. */
function sentencesAbout([worst, ...others]: StreamFacts['findings'], source: StreamFacts['source']): CodedSentence[] {
  if (worst === undefined) return []
  const { code: finding, shown, text, advice } = worst
  const of = (finding === 'frame_rate' ? source?.declaredFrameRate : source?.videoProfile) ?? ''
  return [
    { code: 'finding', values: { finding, shown, of, text: `${text} ${advice}` } },
    ...(others.length === 0 ? [] : [coded('more_findings', { count: others.length })]),
  ]
}

const addonsOf = ({ addonProblem: text }: AttentionFacts): AttentionItem[] =>
  text === null ? [] : [warning({ kind: 'addons_missing' }, said(text))]

function countriesOf({
  hasCountries,
  namingCountries: tokens,
  accountNamesCountries,
}: AttentionFacts): AttentionItem[] {
  if (hasCountries || (tokens === 0 && !accountNamesCountries)) return []
  const who = accountNamesCountries
    ? coded('countries_of_account')
    : tokens === 1
      ? coded('countries_of_token')
      : coded('countries_of_tokens', { tokens })
  return [warning({ kind: 'countries_unknown' }, who, coded('countries_remedy'))]
}

function tokensOf({ expiring }: AttentionFacts): AttentionItem[] {
  return expiring.map(({ kind, id, label, expiresAtMs }) => {
    const until = isoTime(expiresAtMs)
    const subject = { type: `${kind}_token`, id: String(id) } as const
    return warning(
      { kind: 'token_expires', subject, until },
      coded(`${kind}_token_expires`, { label, date: until.slice(0, 10) }),
    )
  })
}

const megabits = (bits = 0): number => rounded(bits / 1e6, 10)

/** A path or a query may hold a secret of the receiver. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'an address')
