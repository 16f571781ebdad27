import { nounsOf } from './nouns.ts'
import type { Reads, Tx } from './store.ts'
import { AbrLadderVerbs } from './tables/abrLadders.ts'
import { AccessLogReadVerbs, AccessLogTxVerbs } from './tables/accessLog.ts'
import { MinuteReadVerbs, MinuteTxVerbs } from './tables/accountMinutes.ts'
import { AccountReadVerbs, AccountTxVerbs } from './tables/accounts.ts'
import { AcmeReadVerbs, AcmeTxVerbs } from './tables/acme.ts'
import { AttentionReadVerbs } from './tables/attention.ts'
import { AudienceReadVerbs, AudienceTxVerbs } from './tables/audience.ts'
import { AuditReadVerbs, AuditTxVerbs } from './tables/audit.ts'
import { BindingReadVerbs, BindingTxVerbs } from './tables/bindings.ts'
import { CacheLogTxVerbs } from './tables/cacheLogs.ts'
import { ChangeTxVerbs } from './tables/changes.ts'
import { ChannelEventReadVerbs, ChannelEventTxVerbs } from './tables/channelEvents.ts'
import { ChannelReadVerbs, ChannelTxVerbs } from './tables/channels.ts'
import { ChannelWebhookReadVerbs, ChannelWebhookTxVerbs } from './tables/channelWebhooks.ts'
import { CredentialReadVerbs, CredentialTxVerbs } from './tables/credentials.ts'
import { DashboardSessionReadVerbs, DashboardSessionTxVerbs } from './tables/dashboardSessions.ts'
import { DeliveryTxVerbs } from './tables/deliveries.ts'
import { DeliveryReadVerbs } from './tables/deliveryReads.ts'
import { DistributionKeyReadVerbs, DistributionKeyTxVerbs, DistributionVerbs } from './tables/distributions.ts'
import { EngineReadVerbs, EngineTxVerbs } from './tables/engines.ts'
import { EngineStateReadVerbs, EngineStateTxVerbs } from './tables/engineStates.ts'
import { FeedHealthReadVerbs, FeedHealthTxVerbs } from './tables/feedHealth.ts'
import { FeedReadVerbs, FeedTxVerbs } from './tables/feeds.ts'
import { IngestClaimReadVerbs, IngestClaimTxVerbs } from './tables/ingestClaims.ts'
import { IngestVerbs } from './tables/ingests.ts'
import { NodeReadVerbs, NodeTxVerbs } from './tables/nodes.ts'
import { OutboxReadVerbs, OutboxTxVerbs } from './tables/outbox.ts'
import { PasskeyReadVerbs, PasskeyTxVerbs } from './tables/passkeys.ts'
import { ProvisionedTxVerbs } from './tables/provisioned.ts'
import { PullReadVerbs, PullTxVerbs } from './tables/pulls.ts'
import { RecordingReadVerbs, RecordingTxVerbs } from './tables/recordings.ts'
import { ReloadReadVerbs, ReloadTxVerbs } from './tables/reloads.ts'
import { RestreamEventReadVerbs, RestreamEventTxVerbs } from './tables/restreamEvents.ts'
import { RestreamHourReadVerbs, RestreamHourTxVerbs } from './tables/restreamHours.ts'
import { RestreamKeyReadVerbs, RestreamKeyTxVerbs } from './tables/restreamKeys.ts'
import { RevocationReadVerbs, RevocationTxVerbs } from './tables/revocations.ts'
import { RunReadVerbs, RunTxVerbs } from './tables/runs.ts'
import { SchedulerReadVerbs, SchedulerTxVerbs } from './tables/schedulers.ts'
import { SealedTxVerbs } from './tables/sealed.ts'
import { SecretReadVerbs, SecretTxVerbs } from './tables/secrets.ts'
import { ServedReadVerbs, ServedTxVerbs } from './tables/served.ts'
import { SessionReadVerbs, SessionTxVerbs } from './tables/sessions.ts'
import { SetupCodeReadVerbs, SetupCodeTxVerbs } from './tables/setupCodes.ts'
import { SlateReadVerbs } from './tables/slates.ts'
import { StreamNodeReadVerbs, StreamNodeTxVerbs } from './tables/streamNodes.ts'
import { TokenReadVerbs, TokenTxVerbs } from './tables/tokens.ts'
import { UsageReadVerbs, UsageTxVerbs } from './tables/usageReads.ts'
import { UserReadVerbs, UserTxVerbs } from './tables/users.ts'
import { ViewerSeatReadVerbs, ViewerSeatTxVerbs } from './tables/viewerSeats.ts'
import { ViewerTraceReadVerbs, ViewerTraceTxVerbs } from './tables/viewerTraces.ts'
import { ViewingReadVerbs, ViewingTxVerbs } from './tables/viewing.ts'
import { WebhookReadVerbs, WebhookTxVerbs } from './tables/webhooks.ts'

/** The classes of each noun: of its reads, and of its verbs in a transaction. Some nouns have only one of them. */
const NOUNS = {
  abrLadders: { reads: AbrLadderVerbs, tx: AbrLadderVerbs },
  accessLog: { reads: AccessLogReadVerbs, tx: AccessLogTxVerbs },
  accounts: { reads: AccountReadVerbs, tx: AccountTxVerbs },
  acme: { reads: AcmeReadVerbs, tx: AcmeTxVerbs },
  attention: { reads: AttentionReadVerbs },
  audience: { reads: AudienceReadVerbs, tx: AudienceTxVerbs },
  audit: { reads: AuditReadVerbs, tx: AuditTxVerbs },
  bindings: { reads: BindingReadVerbs, tx: BindingTxVerbs },
  cacheLogs: { tx: CacheLogTxVerbs },
  changes: { tx: ChangeTxVerbs },
  channelEvents: { reads: ChannelEventReadVerbs, tx: ChannelEventTxVerbs },
  channels: { reads: ChannelReadVerbs, tx: ChannelTxVerbs },
  channelWebhooks: { reads: ChannelWebhookReadVerbs, tx: ChannelWebhookTxVerbs },
  credentials: { reads: CredentialReadVerbs, tx: CredentialTxVerbs },
  dashboardSessions: { reads: DashboardSessionReadVerbs, tx: DashboardSessionTxVerbs },
  deliveries: { reads: DeliveryReadVerbs, tx: DeliveryTxVerbs },
  distributionKeys: { reads: DistributionKeyReadVerbs, tx: DistributionKeyTxVerbs },
  distributions: { reads: DistributionVerbs, tx: DistributionVerbs },
  engines: { reads: EngineReadVerbs, tx: EngineTxVerbs },
  engineStates: { reads: EngineStateReadVerbs, tx: EngineStateTxVerbs },
  feedHealth: { reads: FeedHealthReadVerbs, tx: FeedHealthTxVerbs },
  feeds: { reads: FeedReadVerbs, tx: FeedTxVerbs },
  ingestClaims: { reads: IngestClaimReadVerbs, tx: IngestClaimTxVerbs },
  ingests: { reads: IngestVerbs, tx: IngestVerbs },
  minutes: { reads: MinuteReadVerbs, tx: MinuteTxVerbs },
  nodes: { reads: NodeReadVerbs, tx: NodeTxVerbs },
  outbox: { reads: OutboxReadVerbs, tx: OutboxTxVerbs },
  passkeys: { reads: PasskeyReadVerbs, tx: PasskeyTxVerbs },
  provisioned: { tx: ProvisionedTxVerbs },
  pulls: { reads: PullReadVerbs, tx: PullTxVerbs },
  recordings: { reads: RecordingReadVerbs, tx: RecordingTxVerbs },
  reloads: { reads: ReloadReadVerbs, tx: ReloadTxVerbs },
  restreamEvents: { reads: RestreamEventReadVerbs, tx: RestreamEventTxVerbs },
  restreamHours: { reads: RestreamHourReadVerbs, tx: RestreamHourTxVerbs },
  restreamKeys: { reads: RestreamKeyReadVerbs, tx: RestreamKeyTxVerbs },
  revocations: { reads: RevocationReadVerbs, tx: RevocationTxVerbs },
  runs: { reads: RunReadVerbs, tx: RunTxVerbs },
  schedulers: { reads: SchedulerReadVerbs, tx: SchedulerTxVerbs },
  sealed: { tx: SealedTxVerbs },
  secrets: { reads: SecretReadVerbs, tx: SecretTxVerbs },
  served: { reads: ServedReadVerbs, tx: ServedTxVerbs },
  sessions: { reads: SessionReadVerbs, tx: SessionTxVerbs },
  setupCodes: { reads: SetupCodeReadVerbs, tx: SetupCodeTxVerbs },
  slates: { reads: SlateReadVerbs },
  streamNodes: { reads: StreamNodeReadVerbs, tx: StreamNodeTxVerbs },
  tokens: { reads: TokenReadVerbs, tx: TokenTxVerbs },
  usage: { reads: UsageReadVerbs, tx: UsageTxVerbs },
  users: { reads: UserReadVerbs, tx: UserTxVerbs },
  viewerSeats: { reads: ViewerSeatReadVerbs, tx: ViewerSeatTxVerbs },
  viewerTraces: { reads: ViewerTraceReadVerbs, tx: ViewerTraceTxVerbs },
  viewing: { reads: ViewingReadVerbs, tx: ViewingTxVerbs },
  webhooks: { reads: WebhookReadVerbs, tx: WebhookTxVerbs },
} as const

/** The reads on an executor. */
export const readsOf = nounsOf<Reads, 'reads'>(NOUNS, 'reads')

/** The verbs of a transaction on its executor. */
export const txOf = nounsOf<Tx, 'tx'>(NOUNS, 'tx')
