import type { ActorIdentity } from '../core/actor.ts'
import type { AccessPolicy } from '../core/access/types.ts'
import type { CheckUrl } from '../core/webhooks/rules.ts'
import type { Address } from '../core/access/address.ts'
import type { SessionSlots } from '../core/sessions/slots.ts'
import type { ChannelSettings } from '../core/channels/types.ts'
import type { Mac } from '../core/pages/cursor.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Logger } from '../base/log.ts'
import type { SampledLog } from '../base/sampledLog.ts'
import type { Tally } from '../base/tally.ts'
import type { Sealer } from '../base/sealer.ts'
import type { AuditRow, Store, Tx } from '../store/store.ts'
import type { AccessCache } from '../store/cached.ts'
import type { SessionRegistry } from '../media/sessionRegistry.ts'
import type { AccessRecorder } from '../services/accessRecorder.ts'
import type { AccountMinutes } from '../services/accountMinutes.ts'
import type { LatestThumbnails } from '../services/latestThumbnails.ts'
import type { StreamMeter } from '../services/streamMeter.ts'
import type { LastUses } from '../services/lastUses.ts'

/** Which streams are on the air. Undefined: the stream has no publisher. */
export type StreamsOnAir = (accountId: string, streamName: string) => { readonly secured: boolean } | undefined

/**
 * Lines that others cause, by what is logged: HTTP answers that refuse, other HTTP answers without a secret, encoders that
 * were not admitted, sessions that have ended, and attempts to deliver to webhooks.
 */
export type SampledLogs = Readonly<Record<'refusals' | 'answers' | 'encoders' | 'sessions' | 'deliveries', SampledLog>>

/** The time by which leases are written, and judged. */
export interface SharedTime {
  /** Whether it has run evenly for so long: only then has a lease that looks expired not been renewed. */
  isEven(forMs: number): Promise<boolean>
}

/** What commands work with. Made once, in `app.ts`. */
export interface Context {
  readonly store: Store
  readonly cache: AccessCache
  /** With several nodes it is set by the database, so that all of them agree. */
  readonly clock: Clock
  readonly time: SharedTime
  readonly random: Random
  readonly log: Logger
  /** For lines that anybody can cause; none of them can fill the disk. */
  readonly sampled: SampledLogs
  /** Seals what must be computed with or shown again (token values). */
  readonly sealer: Sealer
  readonly policy: AccessPolicy
  /** ISO 3166-1 alpha-2 of an address; null when it is not known. */
  readonly countryOf: (address: Address) => string | null
  /** True when a country database is loaded; without one, country rules refuse or pass everybody alike. */
  readonly hasCountries: () => boolean
  readonly streamsOnAir: StreamsOnAir
  /** Who is on at this node, and what is on the air. */
  readonly sessions: SessionRegistry
  /** What this node measures of its feeds. */
  readonly streamMeter: StreamMeter
  /** The latest thumbnails of this node's feeds. */
  readonly latestThumbnails: LatestThumbnails
  /** What this node counts of each account, by minute. */
  readonly accountMinutes: AccountMinutes
  /** Is this the address of a proxy that the operator trusts? Then many may come from it. */
  readonly isProxy: (address: Address) => boolean
  /** Who may take a slot at this node. */
  readonly slots: SessionSlots
  readonly recorder: AccessRecorder
  /** How deliveries to webhooks by this process have ended. */
  readonly deliveries: Tally
  readonly lastUses: LastUses
  /** May a webhook point there? The refusal is a sentence for the person who asks. */
  readonly checkTarget: CheckUrl
  /** Signs list cursors; the same on every node that has the same sealing key. */
  readonly sign: Mac
  readonly channelSettings: ChannelSettings
  /** Called after a change of a live resource was committed, for those who act on it. Must not throw. */
  readonly channelChanged: (change: ChannelChange) => void
}

/** Something of a channel is not as it was. */
export interface ChannelChange {
  readonly kind: 'channel' | 'ingest' | 'engine' | 'distribution' | 'abr_ladder' | 'scheduler'
  readonly what: 'created' | 'updated' | 'deleted' | 'key_rotated'
  readonly accountId: string
  readonly id: string
}

/** Who makes a change, in which account, and from where. */
export type Actor = ActorIdentity & {
  readonly accountId: string
  /** Canonical peer address; null for the command line. */
  readonly address: string | null
  /** Null for the command line. */
  readonly requestId: string | null
}

export const cliActor = (accountId: string): Actor => ({ kind: 'cli', accountId, address: null, requestId: null })

/** Writes the audit row of a change in the change's own transaction. `before` and `after` must be free of secrets. */
export async function audit(
  tx: Tx,
  actor: Actor,
  atMs: number,
  change: { action: string; subject: string; before?: unknown; after?: unknown },
): Promise<void> {
  const { accountId, address, requestId } = actor
  const row: AuditRow = {
    accountId,
    atMs,
    actor,
    address,
    requestId,
    action: change.action,
    subject: change.subject,
    before: change.before === undefined ? null : JSON.stringify(change.before),
    after: change.after === undefined ? null : JSON.stringify(change.after),
  }
  await tx.audit.append(row)
}
