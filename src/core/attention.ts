import { daysLeft, expiresSoon, type Validity } from './certificates/renewal.ts'
import type { FullReason } from './nodes/load.ts'
import type { LinkProblem } from './nodes/nodeLinks.ts'
import type { SourceFinding } from './streams/findings.ts'
import type { StreamHealth } from './streams/health.ts'

/**
 * What needs a person: one list for the dashboard, `GET /api/attention` and `sluice doctor`, made of facts that the caller
 * has read.
 */
export type AttentionKind = (typeof ATTENTION_KINDS)[number]

export const ATTENTION_KINDS = [
  'node_full',
  'engine_error',
  'media_process_ended',
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
  /** One sentence, and what to do. */
  readonly text: string
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
    readonly disabled: { readonly untilMs: number; readonly reason: string } | null
  }[]
  /** Active tokens that expire within `EXPIRES_SOON_MS`. */
  readonly expiring: readonly { kind: 'publish' | 'subscribe'; id: number; label: string; expiresAtMs: number }[]
  /** Tokens that name countries; counted only without a country database. */
  readonly namingCountries: number
  /** The account names countries for tokens that name none. */
  readonly accountNamesCountries: boolean
  /** Engines that are not stopped. */
  readonly engines: readonly { id: string; name: string; status: string; statusMessage: string | null }[]
  readonly streams: readonly {
    readonly streamName: string
    readonly health: StreamHealth
    readonly findings: readonly Pick<SourceFinding, 'text' | 'advice'>[]
    readonly bitrateLowest?: number
    readonly bitrateHighest?: number
  }[]
  readonly disks: readonly { readonly what: string; readonly freeBytes: number; readonly totalBytes: number }[]
  /** What it costs that addons are missing; null: none is. */
  readonly addonProblem: string | null
  /** Migrations in the database that this version does not know. */
  readonly unknownMigrations: readonly string[]
  /** Nodes that take no new viewers, and why; the name is null if there is only one node. */
  readonly fullNodes: readonly { readonly name: string | null; readonly full: readonly FullReason[] }[]
  /** Nodes whose streams do not come to another one, and why. */
  readonly unlinkedNodes: readonly { readonly from: string; readonly to: string; readonly problem: LinkProblem }[]
  /** The latest media process that ended by itself or hung; null: none did. */
  readonly mediaProcessEnd: { readonly atMs: number; readonly isHung: boolean; readonly sessions: number } | null
  /** Of TLS; null: Sluice speaks none. `problem`: why it could not be replaced. */
  readonly certificate: (Validity & { readonly problem: string | null }) | null
}

/** For so long a media process that ended is shown. */
const ENDED_SHOWN_MS = 3_600_000
export const EXPIRES_SOON_MS = 7 * 86_400_000
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

function enginesOf({ engines }: AttentionFacts): AttentionItem[] {
  return engines.flatMap(({ id, name, status, statusMessage: message }): AttentionItem[] => {
    const subject = { type: 'engine', id } as const
    if (status === 'error')
      return [
        { kind: 'engine_error', severity: 'error', subject, text: `Engine ${name} fails: ${message ?? 'unknown'}` },
      ]
    if (message === null || status === 'waiting') return []
    return [{ kind: 'engine_notice', severity: 'warning', subject, text: `Engine ${name}: ${message}` }]
  })
}

const WHY_FULL: Readonly<Record<FullReason, string>> = {
  sessions: 'all sessions for viewers are taken (sessions.max)',
  media: 'its media processes are busy',
  egress: 'it sends as much as server.maxEgressMegabits says',
}

const fullNodesOf = ({ fullNodes }: AttentionFacts): AttentionItem[] =>
  fullNodes.map(({ name, full }) => {
    const why = full.map((reason) => WHY_FULL[reason]).join(', and ')
    const node = name === null ? 'The server' : `The node ${name}`
    const text = `${node} takes no new viewers: ${why}. Those who watch go on. Add a node, or raise the limit`
    return { kind: 'node_full', severity: 'error', text }
  })

/** What to do about a link that does not come up. */
const LINK_REMEDIES: Readonly<Record<LinkProblem, string>> = {
  media_port:
    'its media ports do not answer. Open UDP between the nodes (webrtc.port), or correct webrtc.publicAddresses there',
  no_answer: 'it does not answer over HTTP. Correct its server.nodeUrl, or the firewall',
  refused: 'it refuses the request. Give both the same secrets.sealingKey and version',
  busy: 'it gets too many requests for streams at once. It is asked again after some seconds',
  lends_nothing: 'its server.handover is redirect. Set it to cascade there, or to redirect everywhere',
}

const unlinkedNodesOf = ({ unlinkedNodes }: AttentionFacts): AttentionItem[] =>
  unlinkedNodes.map(({ from, to, problem }) => {
    const text = `Viewers at the node ${to} are redirected to ${from}, because ${LINK_REMEDIES[problem]}`
    return { kind: 'node_unlinked', severity: 'warning', text }
  })

function mediaProcessesOf({ mediaProcessEnd: end, nowMs }: AttentionFacts): AttentionItem[] {
  if (end === null || nowMs - end.atMs >= ENDED_SHOWN_MS) return []
  const what = end.isHung ? 'hung, was killed' : 'died'
  const lost = end.sessions === 1 ? '1 session' : `${end.sessions} sessions`
  const text = `A WebRTC process ${what} and was replaced, which ended ${lost}. If it happens again, look into the log`
  return [{ kind: 'media_process_ended', severity: 'warning', text, until: isoOf(end.atMs + ENDED_SHOWN_MS) }]
}

function disksOf({ disks }: AttentionFacts): AttentionItem[] {
  const low = disks.filter(
    ({ freeBytes, totalBytes }) => freeBytes < Math.min(DISK_LOW_BYTES, totalBytes * DISK_LOW_SHARE),
  )
  return low.map(({ what, freeBytes }) => {
    const gigabytes = (freeBytes / 1e9).toFixed(1)
    const text = `The disk of ${what} is nearly full: ${gigabytes} GB are free. Delete recordings, or enlarge it`
    return { kind: 'disk_low', severity: 'error', text }
  })
}

function certificateOf({ certificate, nowMs }: AttentionFacts): AttentionItem[] {
  if (certificate === null) return []
  const items: AttentionItem[] = []
  const { expiresMs, problem } = certificate
  const until = isoOf(expiresMs)
  if (expiresMs <= nowMs)
    items.push({ kind: 'certificate_expires', severity: 'error', until, text: `The certificate has expired. ${RENEW}` })
  else if (expiresSoon(certificate, nowMs)) {
    const text = `The certificate expires in ${daysLeft(certificate, nowMs)} days. ${RENEW}`
    items.push({ kind: 'certificate_expires', severity: 'warning', until, text })
  }
  if (problem !== null) {
    const text = `The certificate was not replaced: ${problem}`
    items.push({ kind: 'certificate_kept', severity: 'warning', until, text })
  }
  return items
}

const RENEW = 'Renew it, or see `sluice doctor` for what keeps it from being renewed'

function schemaOf({ unknownMigrations }: AttentionFacts): AttentionItem[] {
  if (unknownMigrations.length === 0) return []
  const text = `A newer version of Sluice has changed the database (${unknownMigrations.join(', ')}). Upgrade this node`
  return [{ kind: 'schema_newer', severity: 'warning', text }]
}

function webhooksOf({ webhooks, nowMs }: AttentionFacts): AttentionItem[] {
  return webhooks.flatMap(({ id, url, disabled }): AttentionItem[] => {
    if (disabled === null || disabled.untilMs <= nowMs) return []
    const text = `The webhook to ${hostOf(url)} is paused: ${disabled.reason}`
    const subject = { type: 'webhook', id } as const
    return [{ kind: 'webhook_paused', severity: 'error', subject, text, until: isoOf(disabled.untilMs) }]
  })
}

function streamsOf({ streams }: AttentionFacts): AttentionItem[] {
  return streams.flatMap(({ streamName, health, findings, bitrateLowest, bitrateHighest }): AttentionItem[] => {
    const subject = { type: 'stream', id: streamName } as const
    if (health === 'stalled')
      return [{ kind: 'stream_stalled', severity: 'error', subject, text: `No media of ${streamName} arrives` }]
    if (health === 'impaired') {
      const [worst, ...others] = findings
      const more = others.length === 0 ? '' : ` And ${others.length} more`
      const said = `${streamName}: ${worst?.text ?? ''} ${worst?.advice ?? ''}${more}`
      return [{ kind: 'stream_impaired', severity: 'warning', subject, text: said }]
    }
    if (health !== 'uneven') return []
    const range = `${megabits(bitrateLowest)} to ${megabits(bitrateHighest)} Mbit/s in five minutes`
    const text = `${streamName} arrives unevenly, ${range}. Set the publisher to a constant bitrate`
    return [{ kind: 'stream_uneven', severity: 'warning', subject, text }]
  })
}

const addonsOf = ({ addonProblem: text }: AttentionFacts): AttentionItem[] =>
  text === null ? [] : [{ kind: 'addons_missing', severity: 'warning', text }]

function countriesOf({ hasCountries, namingCountries: count, accountNamesCountries }: AttentionFacts): AttentionItem[] {
  if (hasCountries || (count === 0 && !accountNamesCountries)) return []
  const tokens = accountNamesCountries
    ? 'the account names countries'
    : count === 1
      ? '1 token names countries'
      : `${count} tokens name countries`
  const text = `${tokens}, but there is no country database, so no address passes or fails by its country. Set geoip.database`
  return [{ kind: 'countries_unknown', severity: 'warning', text }]
}

function tokensOf({ expiring }: AttentionFacts): AttentionItem[] {
  return expiring.map(({ kind, id, label, expiresAtMs }) => ({
    kind: 'token_expires',
    severity: 'warning',
    subject: { type: `${kind}_token`, id: String(id) },
    text: `The ${kind} token ${label} expires on ${isoOf(expiresAtMs).slice(0, 10)}`,
    until: isoOf(expiresAtMs),
  }))
}

const isoOf = (ms: number): string => new Date(ms).toISOString()
const megabits = (bits = 0): string => (bits / 1e6).toFixed(1)

/** A path or a query may hold a secret of the receiver. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'an address')
