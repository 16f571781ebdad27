import { sessionTxOf } from './sessionVerbs.ts'
import { liveTxOf } from './liveVerbs.ts'
import { runTxOf } from './runsVerbs.ts'
import type { Session } from './session.ts'
import type { Tx } from './store.ts'
import { appendAccessLog, pruneAccessLog } from './tables/accessLog.ts'
import { insertAccount, listAccounts } from './tables/accounts.ts'
import { appendAudit, pruneAudit } from './tables/audit.ts'
import { bindAddress, clearBindings, keepEarliest, touchBindings } from './tables/bindings.ts'
import { appendChange, pruneChanges } from './tables/changes.ts'
import { deleteCredential, getCredential, insertCredential } from './tables/credentials.ts'
import {
  claimDeliveries,
  deletePendingDeliveries,
  finishDeliveries,
  insertDeliveries,
  pruneDeliveries,
  redeliver,
  skipDeliveries,
  startDeliveries,
} from './tables/deliveries.ts'
import {
  giveUpDeliveries,
  holdDeliveries,
  offerProbe,
  releaseRetries,
  resumeDeliveries,
  retryDelivery,
} from './tables/deliveryRetries.ts'
import { expireDeliveries, removeSender, renewSender } from './tables/deliveryNodes.ts'
import * as left from './tables/leftSources.ts'
import { appendOutbox, takeOutbox } from './tables/outbox.ts'
import { deleteRecording, insertRecording, lockRecording, replaceRecording } from './tables/recordings.ts'
import { addRevocation, clearRevocations, countRevocations } from './tables/revocations.ts'
import { deleteSecret, getSecret, insertSecret, replaceSecret } from './tables/secrets.ts'
import { deleteToken, holdToken, insertToken, lockToken, replaceToken } from './tables/tokens.ts'
import { insertUser } from './tables/users.ts'
import {
  deleteWebhook,
  insertWebhook,
  lockWebhook,
  lockWebhooks,
  replaceWebhook,
  setWebhookHealth,
  setWebhookProbed,
  webhooksOf,
} from './tables/webhooks.ts'

/** The verbs of a transaction over the session in which it runs. */
export function txOf(session: Session): Tx {
  return {
    ...liveTxOf(session),
    ...runTxOf(session),
    ...sessionTxOf(session),
    accounts: { insert: (account) => insertAccount(session, account), list: () => listAccounts(session) },
    secrets: {
      insert: (secret) => insertSecret(session, secret),
      get: (accountId, id) => getSecret(session, accountId, id),
      replace: (id, hash, hint, atMs) => replaceSecret(session, id, hash, hint, atMs),
      delete: (id) => deleteSecret(session, id),
    },
    credentials: {
      insert: (credential) => insertCredential(session, credential),
      get: (accountId, id) => getCredential(session, accountId, id),
      delete: (id) => deleteCredential(session, id),
    },
    users: { insert: (user) => insertUser(session, user) },
    tokens: {
      insert: (token) => insertToken(session, token),
      lock: (accountId, kind, id) => lockToken(session, accountId, kind, id),
      hold: (id) => holdToken(session, id),
      replace: (token) => replaceToken(session, token),
      delete: (token) => deleteToken(session, token),
    },
    bindings: {
      bind: (input) => bindAddress(session, input),
      keepEarliest: (tokenId, count) => keepEarliest(session, tokenId, count),
      clear: (tokenId) => clearBindings(session, tokenId),
      touch: (uses) => touchBindings(session, uses),
    },
    revocations: {
      add: (tokenId, jti, atMs) => addRevocation(session, tokenId, jti, atMs),
      count: (tokenId) => countRevocations(session, tokenId),
      clear: (tokenId) => clearRevocations(session, tokenId),
    },
    recordings: recordingVerbs(session),
    changes: {
      append: (change) => appendChange(session, change),
      prune: (beforeMs) => pruneChanges(session, beforeMs),
    },
    outbox: { append: (event) => appendOutbox(session, event), take: (limit) => takeOutbox(session, limit) },
    ...liveTxOf(session),
    webhooks: webhookVerbs(session),
    deliveries: deliveryVerbs(session),
    leftSources: {
      ofAudit: (limit) => left.removeAuditSources(session, limit),
      ofRuns: (limit) => left.removeRunSources(session, limit),
      ofDeliveries: (untilMs, limit) => left.removeDeliveredSources(session, untilMs, limit),
      ofEngines: () => left.removeToldSources(session),
    },
    audit: {
      append: (row) => appendAudit(session, row),
      prune: (beforeMs, limit) => pruneAudit(session, beforeMs, limit),
    },
    accessLog: {
      append: (rows) => appendAccessLog(session, rows),
      prune: (beforeMs, limit) => pruneAccessLog(session, beforeMs, limit),
    },
  }
}

function recordingVerbs(session: Session): Tx['recordings'] {
  return {
    insert: (recording) => insertRecording(session, recording),
    lock: (id) => lockRecording(session, id),
    replace: (recording) => replaceRecording(session, recording),
    delete: (id) => deleteRecording(session, id),
  }
}

function webhookVerbs(session: Session): Tx['webhooks'] {
  return {
    insert: (webhook) => insertWebhook(session, webhook),
    lock: (accountId, id) => lockWebhook(session, accountId, id),
    lockAll: (ids) => lockWebhooks(session, ids),
    forAccount: (accountId) => webhooksOf(session, accountId),
    replace: (webhook) => replaceWebhook(session, webhook),
    setHealth: (id, health) => setWebhookHealth(session, id, health),
    setProbed: (id, atMs) => setWebhookProbed(session, id, atMs),
    delete: async (id) => {
      await deleteWebhook(session, id)
      await deletePendingDeliveries(session, id)
    },
  }
}

function deliveryVerbs(session: Session): Tx['deliveries'] {
  return {
    insert: (rows) => insertDeliveries(session, rows),
    redeliver: (input) => redeliver(session, input),
    claim: (input) => claimDeliveries(session, input),
    start: (node, atMs, claimed) => startDeliveries(session, node, atMs, claimed),
    finish: (node, ends) => finishDeliveries(session, node, ends),
    skip: (input) => skipDeliveries(session, input),
    hold: (input) => holdDeliveries(session, input),
    resume: (webhookId, untilMs, nowMs) => resumeDeliveries(session, webhookId, untilMs, nowMs),
    offerProbe: (input) => offerProbe(session, input),
    retry: (input) => retryDelivery(session, input),
    release: (nowMs, limit) => releaseRetries(session, nowMs, limit),
    giveUp: (webhookId, reason, atMs) => giveUpDeliveries(session, webhookId, reason, atMs),
    renew: (node, leaseMs) => renewSender(session, node, leaseMs),
    leave: (node) => removeSender(session, node),
    expire: (input) => expireDeliveries(session, input),
    prune: (beforeMs, limit) => pruneDeliveries(session, beforeMs, limit),
  }
}
