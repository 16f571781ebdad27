import { sessionTxOf } from './sessionVerbs.ts'
import { channelTxOf } from './channelsVerbs.ts'
import { runTxOf } from './runsVerbs.ts'
import type { Executor } from './executor.ts'
import type { Tx } from './store.ts'
import { acmeTxOf } from './tables/acme.ts'
import { appendAccessLog, pruneAccessLog } from './tables/accessLog.ts'
import { insertAccount, listAccounts } from './tables/accounts.ts'
import { appendAudit, pruneAudit } from './tables/audit.ts'
import { bindAddress, clearBindings, keepEarliest, touchBindings } from './tables/bindings.ts'
import { appendChange, pruneChanges } from './tables/changes.ts'
import { deleteCredential, getCredential, insertCredential, touchCredential } from './tables/credentials.ts'
import {
  claimDeliveries,
  deletePendingDeliveries,
  finishDeliveries,
  insertDeliveries,
  pruneDeliveries,
  skipDeliveries,
  startDeliveries,
} from './tables/deliveries.ts'
import {
  giveUpDeliveries,
  holdDeliveries,
  offerProbe,
  releaseRetries,
  requeueDeliveries,
  resumeDeliveries,
} from './tables/deliveryRetries.ts'
import { redeliver, retryDelivery } from './tables/deliveryCopies.ts'
import { undeliveredIds } from './tables/deliveryReads.ts'
import { expireDeliveries, removeSender, renewSender } from './tables/deliveryNodes.ts'
import * as left from './tables/leftSources.ts'
import * as traces from './tables/viewerTraces.ts'
import { appendOutbox, takeOutbox } from './tables/outbox.ts'
import { deleteRecording, insertRecording, lockRecording, replaceRecording } from './tables/recordings.ts'
import { addRevocation, clearRevocations, countRevocations } from './tables/revocations.ts'
import { deleteProvisioned, listProvisioned, putProvisioned } from './tables/provisioned.ts'
import { deleteReload, insertReload, pruneReloads, setReloadAnswer } from './tables/reloads.ts'
import { deleteSecret, getSecret, insertSecret, replaceSecret, touchSecret } from './tables/secrets.ts'
import { lockOtherSealed, replaceSealed } from './tables/sealed.ts'
import { userTxOf } from './usersVerbs.ts'
import { deleteToken, lockSharedToken, insertToken, lockToken, replaceToken, touchTokens } from './tables/tokens.ts'
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

const operationsTxOf = (executor: Executor): Pick<Tx, 'reloads' | 'provisioned' | 'viewerTraces'> => ({
  viewerTraces: {
    forgetSessions: (of, limit) => traces.forgetSessions(executor, of, limit),
    forgetAccessLog: (accountId, address, limit) => traces.forgetAccessLog(executor, accountId, address, limit),
    forgetBindings: (accountId, address, limit) => traces.forgetBindings(executor, accountId, address, limit),
    forgetUsage: (accountId, trackingId) => traces.forgetUsage(executor, accountId, trackingId),
  },
  reloads: {
    insert: (request, askedAtMs) => insertReload(executor, request, askedAtMs),
    answer: (id, answer) => setReloadAnswer(executor, id, answer),
    delete: (id) => deleteReload(executor, id),
    prune: (beforeMs) => pruneReloads(executor, beforeMs),
  },
  provisioned: {
    list: (accountId) => listProvisioned(executor, accountId),
    put: (accountId, row) => putProvisioned(executor, accountId, row),
    delete: (accountId, row) => deleteProvisioned(executor, accountId, row),
  },
})

/** The verbs of a transaction on its executor. */
export function txOf(executor: Executor): Tx {
  return {
    ...channelTxOf(executor),
    ...runTxOf(executor),
    ...sessionTxOf(executor),
    ...userTxOf(executor),
    ...operationsTxOf(executor),
    acme: acmeTxOf(executor),
    accounts: { insert: (account) => insertAccount(executor, account), list: () => listAccounts(executor) },
    secrets: {
      insert: (secret) => insertSecret(executor, secret),
      get: (accountId, id) => getSecret(executor, accountId, id),
      replace: (id, hash, hint, atMs) => replaceSecret(executor, id, hash, hint, atMs),
      touch: (id, atMs) => touchSecret(executor, id, atMs),
      delete: (id) => deleteSecret(executor, id),
    },
    credentials: {
      insert: (credential) => insertCredential(executor, credential),
      get: (accountId, id) => getCredential(executor, accountId, id),
      touch: (id, atMs) => touchCredential(executor, id, atMs),
      delete: (id) => deleteCredential(executor, id),
    },
    tokens: {
      insert: (token) => insertToken(executor, token),
      lock: (accountId, kind, id) => lockToken(executor, accountId, kind, id),
      lockShared: (id) => lockSharedToken(executor, id),
      replace: (token) => replaceToken(executor, token),
      delete: (token) => deleteToken(executor, token),
      touch: (uses) => touchTokens(executor, uses),
    },
    bindings: {
      bind: (input) => bindAddress(executor, input),
      keepEarliest: (tokenId, count) => keepEarliest(executor, tokenId, count),
      clear: (tokenId) => clearBindings(executor, tokenId),
      touch: (uses) => touchBindings(executor, uses),
    },
    revocations: {
      add: (tokenId, jti, atMs) => addRevocation(executor, tokenId, jti, atMs),
      count: (tokenId) => countRevocations(executor, tokenId),
      clear: (tokenId) => clearRevocations(executor, tokenId),
    },
    recordings: recordingVerbs(executor),
    changes: {
      append: (change) => appendChange(executor, change),
      prune: (beforeMs) => pruneChanges(executor, beforeMs),
    },
    outbox: { append: (event) => appendOutbox(executor, event), take: (limit) => takeOutbox(executor, limit) },
    webhooks: webhookVerbs(executor),
    sealed: {
      lockOthers: (kind, query) => lockOtherSealed(executor, kind, query),
      replace: (kind, value) => replaceSealed(executor, kind, value),
    },
    deliveries: deliveryVerbs(executor),
    leftSources: {
      ofAudit: (limit) => left.removeAuditSources(executor, limit),
      ofRuns: (limit) => left.removeRunSources(executor, limit),
      ofDeliveries: (untilMs, limit) => left.removeDeliveredSources(executor, untilMs, limit),
      ofEngines: () => left.removeMessageSources(executor),
    },
    audit: {
      append: (row) => appendAudit(executor, row),
      prune: (beforeMs, limit) => pruneAudit(executor, beforeMs, limit),
    },
    accessLog: {
      append: (rows) => appendAccessLog(executor, rows),
      prune: (beforeMs, limit) => pruneAccessLog(executor, beforeMs, limit),
    },
  }
}

function recordingVerbs(executor: Executor): Tx['recordings'] {
  return {
    insert: (recording) => insertRecording(executor, recording),
    lock: (id) => lockRecording(executor, id),
    replace: (recording) => replaceRecording(executor, recording),
    delete: (id) => deleteRecording(executor, id),
  }
}

function webhookVerbs(executor: Executor): Tx['webhooks'] {
  return {
    insert: (webhook) => insertWebhook(executor, webhook),
    lock: (accountId, id) => lockWebhook(executor, accountId, id),
    lockAll: (ids) => lockWebhooks(executor, ids),
    forAccount: (accountId) => webhooksOf(executor, accountId),
    replace: (webhook) => replaceWebhook(executor, webhook),
    setHealth: (id, health) => setWebhookHealth(executor, id, health),
    setProbed: (id, atMs) => setWebhookProbed(executor, id, atMs),
    delete: async (id) => {
      await deleteWebhook(executor, id)
      await deletePendingDeliveries(executor, id)
    },
  }
}

function deliveryVerbs(executor: Executor): Tx['deliveries'] {
  return {
    insert: (rows) => insertDeliveries(executor, rows),
    undelivered: (query) => undeliveredIds(executor, query),
    redeliver: (input) => redeliver(executor, input),
    claim: (input) => claimDeliveries(executor, input),
    start: (node, atMs, claimed) => startDeliveries(executor, node, atMs, claimed),
    finish: (node, ends) => finishDeliveries(executor, node, ends),
    requeue: (node, ids) => requeueDeliveries(executor, node, ids),
    skip: (input) => skipDeliveries(executor, input),
    hold: (input) => holdDeliveries(executor, input),
    resume: (webhookId, untilMs, nowMs) => resumeDeliveries(executor, webhookId, untilMs, nowMs),
    offerProbe: (input) => offerProbe(executor, input),
    retry: (input) => retryDelivery(executor, input),
    release: (nowMs, limit) => releaseRetries(executor, nowMs, limit),
    giveUp: (webhookId, reason, atMs) => giveUpDeliveries(executor, webhookId, reason, atMs),
    renew: (node, leaseMs) => renewSender(executor, node, leaseMs),
    leave: (node) => removeSender(executor, node),
    expire: (input) => expireDeliveries(executor, input),
    prune: (beforeMs, limit) => pruneDeliveries(executor, beforeMs, limit),
  }
}
