import type { Executor } from './executor.ts'
import type { PeopleReads, PeopleTx } from './users.ts'
import {
  deleteDashboardSession,
  deleteDashboardSessionsOf,
  findDashboardSession,
  insertDashboardSession,
  listDashboardSessions,
  pruneDashboardSessions,
  touchDashboardSession,
} from './tables/dashboardSessions.ts'
import {
  countPasskeyUse,
  deletePasskey,
  deletePasskeysOf,
  getPasskey,
  insertPasskey,
  listPasskeys,
  pruneChallenges,
  spendChallenge,
} from './tables/passkeys.ts'
import { findSetupCode, insertSetupCode, pruneSetupCodes, useSetupCode } from './tables/setupCodes.ts'
import {
  deleteUser,
  existUsers,
  findUser,
  getUser,
  insertUser,
  listUsers,
  lockAccountOfUsers,
  lockUser,
  lockUserById,
  setUserPassword,
  setUserRole,
} from './tables/users.ts'

/** The verbs of users in a transaction. */
export const userTxOf = (executor: Executor): PeopleTx => ({
  users: {
    insert: (user) => insertUser(executor, user),
    lock: (accountId, id) => lockUser(executor, accountId, id),
    lockById: (id) => lockUserById(executor, id),
    lockAccount: (accountId) => lockAccountOfUsers(executor, accountId),
    list: (accountId) => listUsers(executor, accountId),
    exist: () => existUsers(executor),
    setRole: (id, role) => setUserRole(executor, id, role),
    setPassword: (id, passwordHash) => setUserPassword(executor, id, passwordHash),
    delete: async (id) => {
      await deletePasskeysOf(executor, id)
      await deleteUser(executor, id)
    },
  },
  dashboardSessions: {
    find: (hash) => findDashboardSession(executor, hash),
    insert: (session) => insertDashboardSession(executor, session),
    list: (userId) => listDashboardSessions(executor, userId),
    touch: (id, atMs) => touchDashboardSession(executor, id, atMs),
    delete: (userId, id) => deleteDashboardSession(executor, userId, id),
    deleteOf: (userId, exceptId) => deleteDashboardSessionsOf(executor, userId, exceptId),
    prune: (beforeMs, limit) => pruneDashboardSessions(executor, beforeMs, limit),
  },
  setupCodes: {
    insert: (code) => insertSetupCode(executor, code),
    use: (hash, atMs) => useSetupCode(executor, hash, atMs),
    prune: (beforeMs, limit) => pruneSetupCodes(executor, beforeMs, limit),
  },
  passkeys: {
    list: (userId) => listPasskeys(executor, userId),
    insert: (passkey) => insertPasskey(executor, passkey),
    countUse: (id, count, atMs) => countPasskeyUse(executor, id, count, atMs),
    delete: (userId, id) => deletePasskey(executor, userId, id),
    spend: (hash, expiresAtMs) => spendChallenge(executor, hash, expiresAtMs),
    pruneChallenges: (beforeMs, limit) => pruneChallenges(executor, beforeMs, limit),
  },
})

/** The reads of users. */
export const userReadsOf = (executor: Executor): PeopleReads => ({
  users: {
    get: (accountId, id) => getUser(executor, accountId, id),
    findByEmail: (email) => findUser(executor, email),
    list: (accountId) => listUsers(executor, accountId),
    exist: () => existUsers(executor),
  },
  dashboardSessions: {
    find: (hash) => findDashboardSession(executor, hash),
    list: (userId) => listDashboardSessions(executor, userId),
  },
  setupCodes: { find: (hash) => findSetupCode(executor, hash) },
  passkeys: { get: (id) => getPasskey(executor, id), list: (userId) => listPasskeys(executor, userId) },
})
