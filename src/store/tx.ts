import { nounsOf } from './nouns.ts'
import type { Tx } from './store.ts'
import { AbrLadderVerbs } from './tables/abrLadders.ts'
import { AccessLogTxVerbs } from './tables/accessLog.ts'
import { MinuteTxVerbs } from './tables/accountMinutes.ts'
import { AccountTxVerbs } from './tables/accounts.ts'
import { AcmeTxVerbs } from './tables/acme.ts'
import { AudienceTxVerbs } from './tables/audience.ts'
import { AuditTxVerbs } from './tables/audit.ts'
import { BindingTxVerbs } from './tables/bindings.ts'
import { CacheLogTxVerbs } from './tables/cacheLogs.ts'
import { ChangeTxVerbs } from './tables/changes.ts'
import { ChannelEventTxVerbs } from './tables/channelEvents.ts'
import { ChannelWebhookTxVerbs } from './tables/channelWebhooks.ts'
import { ChannelTxVerbs } from './tables/channels.ts'
import { CredentialTxVerbs } from './tables/credentials.ts'
import { DashboardSessionTxVerbs } from './tables/dashboardSessions.ts'
import { DeliveryTxVerbs } from './tables/deliveries.ts'
import { DistributionKeyTxVerbs, DistributionVerbs } from './tables/distributions.ts'
import { IngestClaimTxVerbs } from './tables/ingestClaims.ts'
import { EngineStateTxVerbs } from './tables/engineStates.ts'
import { EngineTxVerbs } from './tables/engines.ts'
import { FeedHealthTxVerbs } from './tables/feedHealth.ts'
import { FeedTxVerbs } from './tables/feeds.ts'
import { IngestVerbs } from './tables/ingests.ts'
import { NodeTxVerbs } from './tables/nodes.ts'
import { OutboxTxVerbs } from './tables/outbox.ts'
import { PasskeyTxVerbs } from './tables/passkeys.ts'
import { ProvisionedTxVerbs } from './tables/provisioned.ts'
import { PullTxVerbs } from './tables/pulls.ts'
import { RecordingTxVerbs } from './tables/recordings.ts'
import { ReloadTxVerbs } from './tables/reloads.ts'
import { RestreamEventTxVerbs } from './tables/restreamEvents.ts'
import { RestreamHourTxVerbs } from './tables/restreamHours.ts'
import { RestreamKeyTxVerbs } from './tables/restreamKeys.ts'
import { RevocationTxVerbs } from './tables/revocations.ts'
import { RunTxVerbs } from './tables/runs.ts'
import { SchedulerTxVerbs } from './tables/schedulers.ts'
import { SealedTxVerbs } from './tables/sealed.ts'
import { SecretTxVerbs } from './tables/secrets.ts'
import { ServedTxVerbs } from './tables/served.ts'
import { SessionTxVerbs } from './tables/sessions.ts'
import { SetupCodeTxVerbs } from './tables/setupCodes.ts'
import { StreamNodeTxVerbs } from './tables/streamNodes.ts'
import { TokenTxVerbs } from './tables/tokens.ts'
import { UsageTxVerbs } from './tables/usageReads.ts'
import { UserTxVerbs } from './tables/users.ts'
import { ViewerSeatTxVerbs } from './tables/viewerSeats.ts'
import { ViewerTraceTxVerbs } from './tables/viewerTraces.ts'
import { ViewingTxVerbs } from './tables/viewing.ts'
import { WebhookTxVerbs } from './tables/webhooks.ts'

/** The verbs of a transaction on its executor. */
export const txOf = nounsOf<Tx>({
  abrLadders: AbrLadderVerbs,
  accessLog: AccessLogTxVerbs,
  accounts: AccountTxVerbs,
  acme: AcmeTxVerbs,
  audience: AudienceTxVerbs,
  audit: AuditTxVerbs,
  bindings: BindingTxVerbs,
  cacheLogs: CacheLogTxVerbs,
  changes: ChangeTxVerbs,
  channelEvents: ChannelEventTxVerbs,
  channels: ChannelTxVerbs,
  channelWebhooks: ChannelWebhookTxVerbs,
  credentials: CredentialTxVerbs,
  dashboardSessions: DashboardSessionTxVerbs,
  deliveries: DeliveryTxVerbs,
  distributionKeys: DistributionKeyTxVerbs,
  distributions: DistributionVerbs,
  ingestClaims: IngestClaimTxVerbs,
  engines: EngineTxVerbs,
  engineStates: EngineStateTxVerbs,
  feedHealth: FeedHealthTxVerbs,
  feeds: FeedTxVerbs,
  ingests: IngestVerbs,
  minutes: MinuteTxVerbs,
  nodes: NodeTxVerbs,
  outbox: OutboxTxVerbs,
  passkeys: PasskeyTxVerbs,
  provisioned: ProvisionedTxVerbs,
  pulls: PullTxVerbs,
  recordings: RecordingTxVerbs,
  reloads: ReloadTxVerbs,
  restreamEvents: RestreamEventTxVerbs,
  restreamHours: RestreamHourTxVerbs,
  restreamKeys: RestreamKeyTxVerbs,
  revocations: RevocationTxVerbs,
  runs: RunTxVerbs,
  schedulers: SchedulerTxVerbs,
  sealed: SealedTxVerbs,
  secrets: SecretTxVerbs,
  served: ServedTxVerbs,
  sessions: SessionTxVerbs,
  setupCodes: SetupCodeTxVerbs,
  streamNodes: StreamNodeTxVerbs,
  tokens: TokenTxVerbs,
  usage: UsageTxVerbs,
  users: UserTxVerbs,
  viewerSeats: ViewerSeatTxVerbs,
  viewerTraces: ViewerTraceTxVerbs,
  viewing: ViewingTxVerbs,
  webhooks: WebhookTxVerbs,
})
