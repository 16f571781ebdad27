import type { Session } from './session.ts'
import type { Tx } from './store.ts'
import { appendAccessLog, pruneAccessLog } from './tables/accessLog.ts'
import { insertAccount, listAccounts } from './tables/accounts.ts'
import { appendAudit, pruneAudit } from './tables/audit.ts'
import { bindAddress, clearBindings, keepEarliest, touchBindings } from './tables/bindings.ts'
import { appendChange, pruneChanges } from './tables/changes.ts'
import { deleteCredential, getCredential, insertCredential } from './tables/credentials.ts'
import { appendOutbox } from './tables/outbox.ts'
import { addRevocation, clearRevocations, countRevocations } from './tables/revocations.ts'
import { deleteSecret, getSecret, insertSecret, replaceSecret } from './tables/secrets.ts'
import { deleteToken, insertToken, lockToken, replaceToken } from './tables/tokens.ts'
import { insertUser } from './tables/users.ts'

/** The verbs of a transaction over the session in which it runs. */
export function txOf(session: Session): Tx {
  return {
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
    changes: {
      append: (change) => appendChange(session, change),
      prune: (beforeMs) => pruneChanges(session, beforeMs),
    },
    outbox: { append: (event) => appendOutbox(session, event) },
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
