import { isObject } from '../base/objects.ts'
import type { ActorIdentity } from '../core/actor.ts'
import type { AccessPolicy } from '../core/access/types.ts'
import type { CheckUrl } from '../core/webhooks/rules.ts'
import type { TargetPolicy } from '../core/restream/targets.ts'
import type { Address } from '../core/access/address.ts'
import type { SessionSlots } from '../core/sessions/slots.ts'
import type { ProbeSlate } from '../core/channels/slate.ts'
import type { ChannelSettings } from '../core/channels/types.ts'
import type { Mac } from '../core/pages/cursor.ts'
import type { Clock, Starts } from '../base/clock.ts'
import type { PasswordCost } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { Logger } from '../base/log.ts'
import type { SampledLog } from '../base/sampledLog.ts'
import type { Tally } from '../base/tally.ts'
import type { Sealer } from '../base/sealer.ts'
import type { AuditRow, Store, Tx } from '../store/store.ts'
import type { AccessCache } from '../store/cached.ts'
import type { SessionRegistry } from '../media/sessionRegistry.ts'
import type { AccessRecorder } from '../services/accessRecorder.ts'
import type { Cascade, NodeKey } from '../services/cascade.ts'
import type { LentRooms } from '../services/lentRooms.ts'
import type { AudienceNow } from '../services/audienceNow.ts'
import type { AccountMinutes } from '../services/accountMinutes.ts'
import type { RestreamUsage } from '../services/restreamUsage.ts'
import type { SessionStarts } from '../services/sessionStarts.ts'
import type { MediaProcesses } from '../services/mediaProcesses.ts'
import type { NodeLoad } from '../services/nodeLoad.ts'
import type { OtherNodes } from '../services/otherNodes.ts'
import type { PlayerReports } from '../services/playerReports.ts'
import type { ViewerFeedback } from '../services/viewerFeedback.ts'
import type { LatestThumbnails } from '../services/latestThumbnails.ts'
import type { StreamMeter } from '../services/streamMeter.ts'
import type { LastUses } from '../services/lastUses.ts'

/** Whether a stream is on the air. Undefined: it has no publisher. */
export type StreamsOnAir = (accountId: string, streamName: string) => { readonly secured: boolean } | undefined

/**
 * Loggers for lines that clients cause: HTTP refusals, other HTTP answers without a secret, publishers that were not
 * admitted, ended sessions, and attempts to deliver to webhooks.
 */
export type SampledLogs = Readonly<
  Record<'refusals' | 'answers' | 'publishers' | 'sessions' | 'deliveries', SampledLog>
>

/** The time that leases are written and judged by. */
export interface SharedTime {
  /** Whether the time did not jump for `forMs`. Only then is a lease that looks expired really not renewed. */
  isEven(forMs: number): Promise<boolean>
  /** Leases could not be renewed until now: the time is not even. */
  interrupted(): void
}

/** What every command works with. */
export interface CommandContext {
  readonly store: Store
  /** All nodes of a cluster use the time of the database. */
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Seals what must be computed with or shown again (token values). */
  readonly sealer: Sealer
  /** Signs list cursors; the same on every node that has the same sealing key. */
  readonly sign: Mac
  /** Signs links to recordings; the same on every node that has the same sealing key. */
  readonly signRecordingLink: Mac
  /**
   * The SRT passphrases of a token's value or a stream key, by each sealing key of this node. The first one is shown, and each opens, so that
   * a new sealing key refuses no publisher while the one before it is there.
   */
  readonly srtPassphrases: (value: string) => readonly [shown: string, ...others: string[]]
  /** What to hash a new password costs. */
  readonly passwordCost: PasswordCost
}

/** What decisions and changes of tokens work with. */
export interface AccessContext extends CommandContext {
  readonly cache: AccessCache
  readonly policy: AccessPolicy
  /** Where publish tokens may send media on to. */
  readonly targetPolicy: TargetPolicy
  /** ISO 3166-1 alpha-2 of an address; null when it is not known. */
  readonly countryOf: (address: Address) => string | null
  /** True when a country database is loaded; without one, country rules refuse or admit all addresses alike. */
  readonly hasCountries: () => boolean
  /** The open sessions of this node, and its streams on the air. */
  readonly sessions: SessionRegistry
  readonly streamsOnAir: StreamsOnAir
  readonly recorder: AccessRecorder
  readonly lastUses: LastUses
  /** Whether this node takes newcomers. */
  readonly nodeLoad: NodeLoad
  /** The streams that this node has from others. */
  readonly cascade: Cascade
}

/** What sessions, their media and their node work with. */
export interface SessionContext extends AccessContext {
  readonly time: SharedTime
  /** For lines that any client can cause; none of them can fill the disk. */
  readonly sampled: SampledLogs
  /** Whether this is the address of a proxy that the operator trusts. Many clients may share it. */
  readonly isProxy: (address: Address) => boolean
  /** The keys of requests between nodes, one for each sealing key of this node. The first one signs. */
  readonly nodeKeys: readonly [NodeKey, ...NodeKey[]]
  /** Where clients go when this node has no room for them. */
  readonly otherNodes: OtherNodes
  /** What this node lends to others. */
  readonly lentRooms: LentRooms
  /** Limits the sessions of this node. */
  readonly slots: SessionSlots
  /** Limits how often sessions begin. */
  readonly starts: SessionStarts
  /** What this node measures of its feeds. */
  readonly streamMeter: StreamMeter
  /** The latest thumbnails of this node's feeds. */
  readonly latestThumbnails: LatestThumbnails
  /** What this node counts of each account, by minute. */
  readonly accountMinutes: AccountMinutes
  /** Viewers of all nodes in the hours that reports do not have yet. */
  readonly audience: AudienceNow
  /** What the targets of this node's feeds use. */
  readonly restreamUsage: RestreamUsage
  /** What became of the media processes of this node. */
  readonly mediaProcesses: MediaProcesses
  /** What players of this node's viewers report. */
  readonly playerReports: PlayerReports
  /** What WebRTC viewers of this node report. */
  readonly viewerFeedback: ViewerFeedback
}

/** What channels and their parts work with. */
export interface ChannelContext extends CommandContext {
  readonly channelSettings: ChannelSettings
  /** The runs that this process has started, and the engines whose source it has seen leave. */
  readonly runStarts: Starts
  /** Decodes what a user wants to have as a slate. */
  readonly probeSlate: ProbeSlate
  /** Called after a change of a part of a channel was committed, for listeners in this process. Must not throw. */
  readonly channelChanged: (change: ChannelChange) => void
}

/** What webhooks of both interfaces work with. */
export interface WebhookContext extends CommandContext {
  /** How deliveries to webhooks by this process have ended. */
  readonly deliveries: Tally
  /** Whether a webhook may have this URL. The refusal is a sentence for the client. */
  readonly checkTarget: CheckUrl
}

/** All of it. Made once, in `app/context.ts`; commands take the part of their noun. */
export interface Context extends SessionContext, ChannelContext, WebhookContext {
  /** How reloads of the configuration by this process have ended. */
  readonly reloads: Tally
}

/** A part of a channel has changed. */
export interface ChannelChange {
  readonly kind: 'channel' | 'ingest' | 'engine' | 'distribution' | 'abr_ladder' | 'scheduler'
  readonly what: 'created' | 'updated' | 'deleted' | 'key_rotated'
  readonly accountId: string
  readonly id: string
}

/** The author of a change, its account and its address. */
export type Actor = ActorIdentity & {
  readonly accountId: string
  /** Canonical peer address; null for the command line. */
  readonly address: string | null
  /** Null for the command line. */
  readonly requestId: string | null
}

export const cliActor = (accountId: string): Actor => ({ kind: 'cli', accountId, address: null, requestId: null })

/** A change as the audit log has it. Both states must be free of secrets. */
export interface AuditedChange {
  readonly action: string
  readonly subject: string
  readonly before?: unknown
  readonly after?: unknown
  /** Both have only what differs, and may hide it. */
  readonly isDifference?: boolean
}

/** Writes the audit rows of changes in the transaction of the changes: of two states only what differs. */
export function audit(tx: Tx, actor: Actor, atMs: number, ...changes: readonly AuditedChange[]): Promise<void> {
  const { accountId, address, requestId } = actor
  const rows = changes.map(({ action, subject, before, after, isDifference = false }): AuditRow => {
    const [kept, made] = isDifference ? [before, after] : [ownOf(before, after), ownOf(after, before)]
    const states = { before: textOf(kept), after: textOf(made) }
    return { accountId, atMs, actor, address, requestId, action, subject, ...states }
  })
  return tx.audit.append(...rows)
}

/** What one of two states has for itself: a token may have a thousand streams, which a change of its label leaves as they are. */
function ownOf(state: unknown, other: unknown): unknown {
  if (!isObject(state) || !isObject(other)) return state
  const isOwn = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(other[name])
  return Object.fromEntries(Object.entries(state).filter(isOwn))
}

const textOf = (state: unknown): string | null => (state === undefined ? null : JSON.stringify(state))
