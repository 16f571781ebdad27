import type { Executor } from './executor.ts'
import type { Reads, Tx } from './store.ts'
import {
  deleteDashboardSession,
  deleteDashboardSessionsOf,
  findDashboardSession,
  insertDashboardSession,
  listDashboardSessions,
  pruneDashboardSessions,
  touchDashboardSession,
} from './tables/dashboardSessions.ts'
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
  setUserPassword,
  setUserRole,
} from './tables/users.ts'

/** The verbs of users in a transaction. */
export const userTxOf = (executor: Executor): Pick<Tx, 'users' | 'dashboardSessions' | 'setupCodes'> => ({
  users: {
    insert: (user) => insertUser(executor, user),
    lock: (accountId, id) => lockUser(executor, accountId, id),
    lockAccount: (accountId) => lockAccountOfUsers(executor, accountId),
    list: (accountId) => listUsers(executor, accountId),
    exist: () => existUsers(executor),
    setRole: (id, role) => setUserRole(executor, id, role),
    setPassword: (id, passwordHash) => setUserPassword(executor, id, passwordHash),
    delete: (id) => deleteUser(executor, id),
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
})

/** The reads of users. */
export const userReadsOf = (executor: Executor): Pick<Reads, 'users' | 'dashboardSessions' | 'setupCodes'> => ({
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
})
