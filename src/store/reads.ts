import { sessionReadsOf } from './sessionVerbs.ts'
import { liveReadsOf } from './liveVerbs.ts'
import { runReadsOf } from './runsVerbs.ts'
import type { Session } from './session.ts'
import type { Reads } from './store.ts'
import { pageAccessLog } from './tables/accessLog.ts'
import { getAccount, listAccounts } from './tables/accounts.ts'
import { recentAudit } from './tables/audit.ts'
import { listBindings } from './tables/bindings.ts'
import { findCredential, listCredentials } from './tables/credentials.ts'
import { dueWebhooks, getDelivery, getPayload, pageDeliveries } from './tables/deliveryReads.ts'
import { isRetryDue } from './tables/deliveryRetries.ts'
import { pendingOutbox } from './tables/outbox.ts'
import { getRecording, pageRecordings, unfinishedRecordings } from './tables/recordings.ts'
import { listRevocations } from './tables/revocations.ts'
import { findSecret, listSecrets } from './tables/secrets.ts'
import { countTokens, listTokens } from './tables/tokenList.ts'
import { findToken, getToken } from './tables/tokens.ts'
import { usableTokens } from './tables/tokenUsable.ts'
import { findUser } from './tables/users.ts'
import { getWebhook, listWebhooks, webhooksOf } from './tables/webhooks.ts'

/** The reading verbs over one session. */
export function readsOf(session: Session): Reads {
  return {
    ...liveReadsOf(session),
    ...runReadsOf(session),
    ...sessionReadsOf(session),
    accounts: { get: (id) => getAccount(session, id), list: () => listAccounts(session) },
    secrets: {
      findByHash: (hash) => findSecret(session, hash),
      list: (accountId) => listSecrets(session, accountId),
    },
    credentials: {
      findByKey: (key) => findCredential(session, key),
      list: (accountId) => listCredentials(session, accountId),
    },
    users: { findByEmail: (email) => findUser(session, email) },
    tokens: {
      get: (id) => getToken(session, id),
      findByHash: (hash) => findToken(session, hash),
      list: (query) => listTokens(session, query),
      count: (query) => countTokens(session, query),
      usable: (accountId, nowMs, streamName) => usableTokens(session, accountId, nowMs, streamName),
    },
    bindings: { list: (tokenId) => listBindings(session, tokenId) },
    revocations: { list: (tokenId) => listRevocations(session, tokenId) },
    accessLog: { page: (query) => pageAccessLog(session, query) },
    outbox: { pending: (limit) => pendingOutbox(session, limit) },
    ...liveReadsOf(session),
    recordings: {
      get: (accountId, id) => getRecording(session, accountId, id),
      page: (query) => pageRecordings(session, query),
      unfinished: (place) => unfinishedRecordings(session, place),
    },
    webhooks: {
      get: (accountId, id) => getWebhook(session, accountId, id),
      list: (query) => listWebhooks(session, query),
      forAccount: (accountId) => webhooksOf(session, accountId),
    },
    deliveries: {
      get: (id) => getDelivery(session, id),
      page: (query) => pageDeliveries(session, query),
      payload: (id) => getPayload(session, id),
      due: (query) => dueWebhooks(session, query),
      isRetryDue: (nowMs) => isRetryDue(session, nowMs),
    },
    audit: { recent: (accountId, limit) => recentAudit(session, accountId, limit) },
  }
}
