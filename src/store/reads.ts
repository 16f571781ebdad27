import { sessionReadsOf } from './sessionVerbs.ts'
import { userReadsOf } from './usersVerbs.ts'
import { channelReadsOf } from './channelsVerbs.ts'
import { runReadsOf } from './runsVerbs.ts'
import type { Executor } from './executor.ts'
import type { Reads } from './store.ts'
import { acmeReadsOf } from './tables/acme.ts'
import { countAccessCodes, getAccessLogRow, pageAccessLog } from './tables/accessLog.ts'
import { getAccount, listAccounts } from './tables/accounts.ts'
import { pageAudit, newestAuditActions, recentAudit } from './tables/audit.ts'
import { expiringTokens, tokensNamingCountries, unknownMigrations } from './tables/attention.ts'
import { listBindings } from './tables/bindings.ts'
import { findCredential, listCredentials } from './tables/credentials.ts'
import { dueWebhooks, getDelivery, getPayload, pageDeliveries } from './tables/deliveryReads.ts'
import { isRetryDue } from './tables/deliveryRetries.ts'
import { pendingOutbox } from './tables/outbox.ts'
import { getRecording, pageRecordings, recordingUsage, unfinishedRecordings } from './tables/recordings.ts'
import { readReloadAnswer, waitingReloads } from './tables/reloads.ts'
import { listRevocations } from './tables/revocations.ts'
import { findSecret, listSecrets } from './tables/secrets.ts'
import { countTokens, listTokens } from './tables/tokenList.ts'
import { findToken, getToken } from './tables/tokens.ts'
import { usableTokens } from './tables/tokenUsable.ts'
import { countViewerTraces } from './tables/viewerTraces.ts'
import { getWebhook, listWebhooks, webhooksOf } from './tables/webhooks.ts'

/** The reads on an executor. */
export function readsOf(executor: Executor): Reads {
  return {
    ...channelReadsOf(executor),
    ...runReadsOf(executor),
    ...sessionReadsOf(executor),
    ...userReadsOf(executor),
    reloads: {
      waiting: (nodeId, limit) => waitingReloads(executor, nodeId, limit),
      answer: (id) => readReloadAnswer(executor, id),
    },
    acme: acmeReadsOf(executor),
    viewerTraces: { count: (accountId, by, value) => countViewerTraces(executor, accountId, by, value) },
    accounts: { get: (id) => getAccount(executor, id), list: () => listAccounts(executor) },
    secrets: {
      findByHash: (hash) => findSecret(executor, hash),
      list: (accountId) => listSecrets(executor, accountId),
    },
    credentials: {
      findByKey: (key) => findCredential(executor, key),
      list: (accountId) => listCredentials(executor, accountId),
    },
    tokens: {
      get: (id) => getToken(executor, id),
      findByHash: (hash) => findToken(executor, hash),
      list: (query) => listTokens(executor, query),
      count: (query) => countTokens(executor, query),
      usable: (accountId, nowMs, streamName) => usableTokens(executor, accountId, nowMs, streamName),
    },
    attention: {
      expiringTokens: (query) => expiringTokens(executor, query),
      tokensNamingCountries: (accountId, limit) => tokensNamingCountries(executor, accountId, limit),
      unknownMigrations: () => unknownMigrations(executor),
    },
    bindings: { list: (tokenId) => listBindings(executor, tokenId) },
    revocations: { list: (tokenId) => listRevocations(executor, tokenId) },
    accessLog: {
      page: (query) => pageAccessLog(executor, query),
      get: (accountId, id) => getAccessLogRow(executor, { accountId, id }),
      countCodes: (query) => countAccessCodes(executor, query),
    },
    outbox: { pending: (limit) => pendingOutbox(executor, limit) },
    ...channelReadsOf(executor),
    recordings: {
      get: (accountId, id) => getRecording(executor, accountId, id),
      page: (query) => pageRecordings(executor, query),
      usage: (accountId) => recordingUsage(executor, accountId),
      unfinished: (hostKey) => unfinishedRecordings(executor, hostKey),
    },
    webhooks: {
      get: (accountId, id) => getWebhook(executor, accountId, id),
      list: (query) => listWebhooks(executor, query),
      forAccount: (accountId) => webhooksOf(executor, accountId),
    },
    deliveries: {
      get: (id) => getDelivery(executor, id),
      page: (query) => pageDeliveries(executor, query),
      payload: (id) => getPayload(executor, id),
      due: (query) => dueWebhooks(executor, query),
      isRetryDue: (nowMs) => isRetryDue(executor, nowMs),
    },
    audit: {
      recent: (accountId, limit) => recentAudit(executor, accountId, limit),
      actions: (accountId, limit) => newestAuditActions(executor, accountId, limit),
      page: (query) => pageAudit(executor, query),
    },
  }
}
