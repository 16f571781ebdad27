import { nounsOf } from './nouns.ts'
import type { Reads } from './store.ts'
import { AbrLadderVerbs } from './tables/abrLadders.ts'
import { AccessLogReadVerbs } from './tables/accessLog.ts'
import { MinuteReadVerbs } from './tables/accountMinutes.ts'
import { AccountReadVerbs } from './tables/accounts.ts'
import { AcmeReadVerbs } from './tables/acme.ts'
import { AttentionReadVerbs } from './tables/attention.ts'
import { AudienceReadVerbs } from './tables/audience.ts'
import { AuditReadVerbs } from './tables/audit.ts'
import { BindingReadVerbs } from './tables/bindings.ts'
import { ChannelEventReadVerbs } from './tables/channelEvents.ts'
import { ChannelWebhookReadVerbs } from './tables/channelWebhooks.ts'
import { ChannelReadVerbs } from './tables/channels.ts'
import { CredentialReadVerbs } from './tables/credentials.ts'
import { DashboardSessionReadVerbs } from './tables/dashboardSessions.ts'
import { DeliveryReadVerbs } from './tables/deliveryReads.ts'
import { DistributionKeyReadVerbs, DistributionVerbs } from './tables/distributions.ts'
import { IngestClaimReadVerbs } from './tables/ingestClaims.ts'
import { EngineStateReadVerbs } from './tables/engineStates.ts'
import { EngineReadVerbs } from './tables/engines.ts'
import { FeedHealthReadVerbs } from './tables/feedHealth.ts'
import { FeedReadVerbs } from './tables/feeds.ts'
import { IngestVerbs } from './tables/ingests.ts'
import { NodeReadVerbs } from './tables/nodes.ts'
import { OutboxReadVerbs } from './tables/outbox.ts'
import { PasskeyReadVerbs } from './tables/passkeys.ts'
import { PullReadVerbs } from './tables/pulls.ts'
import { RecordingReadVerbs } from './tables/recordings.ts'
import { ReloadReadVerbs } from './tables/reloads.ts'
import { RestreamEventReadVerbs } from './tables/restreamEvents.ts'
import { RestreamHourReadVerbs } from './tables/restreamHours.ts'
import { RestreamKeyReadVerbs } from './tables/restreamKeys.ts'
import { RevocationReadVerbs } from './tables/revocations.ts'
import { RunReadVerbs } from './tables/runs.ts'
import { SchedulerReadVerbs } from './tables/schedulers.ts'
import { SecretReadVerbs } from './tables/secrets.ts'
import { ServedReadVerbs } from './tables/served.ts'
import { SessionReadVerbs } from './tables/sessions.ts'
import { SetupCodeReadVerbs } from './tables/setupCodes.ts'
import { SlateReadVerbs } from './tables/slates.ts'
import { StreamNodeReadVerbs } from './tables/streamNodes.ts'
import { TokenReadVerbs } from './tables/tokens.ts'
import { UsageReadVerbs } from './tables/usageReads.ts'
import { UserReadVerbs } from './tables/users.ts'
import { ViewerSeatReadVerbs } from './tables/viewerSeats.ts'
import { ViewerTraceReadVerbs } from './tables/viewerTraces.ts'
import { ViewingReadVerbs } from './tables/viewing.ts'
import { WebhookReadVerbs } from './tables/webhooks.ts'

/** The reads on an executor. */
export const readsOf = nounsOf<Reads>({
  abrLadders: AbrLadderVerbs,
  accessLog: AccessLogReadVerbs,
  accounts: AccountReadVerbs,
  acme: AcmeReadVerbs,
  attention: AttentionReadVerbs,
  audience: AudienceReadVerbs,
  audit: AuditReadVerbs,
  bindings: BindingReadVerbs,
  channelEvents: ChannelEventReadVerbs,
  channels: ChannelReadVerbs,
  channelWebhooks: ChannelWebhookReadVerbs,
  credentials: CredentialReadVerbs,
  dashboardSessions: DashboardSessionReadVerbs,
  deliveries: DeliveryReadVerbs,
  distributionKeys: DistributionKeyReadVerbs,
  distributions: DistributionVerbs,
  ingestClaims: IngestClaimReadVerbs,
  engines: EngineReadVerbs,
  engineStates: EngineStateReadVerbs,
  feedHealth: FeedHealthReadVerbs,
  feeds: FeedReadVerbs,
  ingests: IngestVerbs,
  minutes: MinuteReadVerbs,
  nodes: NodeReadVerbs,
  outbox: OutboxReadVerbs,
  passkeys: PasskeyReadVerbs,
  pulls: PullReadVerbs,
  recordings: RecordingReadVerbs,
  reloads: ReloadReadVerbs,
  restreamEvents: RestreamEventReadVerbs,
  restreamHours: RestreamHourReadVerbs,
  restreamKeys: RestreamKeyReadVerbs,
  revocations: RevocationReadVerbs,
  runs: RunReadVerbs,
  schedulers: SchedulerReadVerbs,
  secrets: SecretReadVerbs,
  served: ServedReadVerbs,
  sessions: SessionReadVerbs,
  setupCodes: SetupCodeReadVerbs,
  slates: SlateReadVerbs,
  streamNodes: StreamNodeReadVerbs,
  tokens: TokenReadVerbs,
  usage: UsageReadVerbs,
  users: UserReadVerbs,
  viewerSeats: ViewerSeatReadVerbs,
  viewerTraces: ViewerTraceReadVerbs,
  viewing: ViewingReadVerbs,
  webhooks: WebhookReadVerbs,
})
