import type { Executor } from './executor.ts'
import type { Reads, Tx } from './store.ts'
import {
  endFeed,
  endFeedsOfNode,
  endFeedsOfSessions,
  remoteFeeds,
  remoteFeedsOf,
  settleFeeds,
  insertFeed,
  lockOpenFeeds,
  openFeeds,
  recentStreamNames,
  tokensOnAir,
} from './tables/feeds.ts'
import { advanceCacheLog, cacheLogPosition, countCacheBytes, pruneCacheLogs } from './tables/cacheLogs.ts'
import { pruneMinutes, putMinutes, sumMinutes } from './tables/accountMinutes.ts'
import { pastBroadcasts } from './tables/broadcasts.ts'
import { countFeedBytes, reportFeeds, streamsOnAir } from './tables/feedReports.ts'
import { nodeActivity } from './tables/nodeActivity.ts'
import {
  deleteNode,
  giveUpNode,
  lockSharedNode,
  insertNode,
  listNodes,
  nodeFacts,
  nodeKeys,
  renewNode,
  setNodeFacts,
  setNodeKey,
} from './tables/nodes.ts'
import { nextStart } from './tables/meta.ts'
import {
  attachFeed,
  countSessions,
  endSessionsOfNode,
  getSession,
  insertSession,
  kickedSessions,
  kickSession,
  kickSessions,
  pageSessions,
  pruneSessionsAndFeeds,
} from './tables/sessions.ts'
import { countUsage, endSessions } from './tables/usage.ts'
import { pruneUsage, sumUsage, trackedUsage } from './tables/usageReads.ts'
import { deleteStreamNodes, putStreamNodes, remoteViewers, remoteViewing } from './tables/streamNodes.ts'
import { beginViewing, idleStreams, desertStream, noteAttempt, pruneViewing } from './tables/viewing.ts'

/** The verbs of sessions in a transaction. */
export const sessionTxOf = (
  executor: Executor,
): Pick<Tx, 'nodes' | 'sessions' | 'feeds' | 'streamNodes' | 'viewing' | 'usage' | 'cacheLogs' | 'minutes'> => ({
  nodes: {
    insert: (node, leaseMs) => insertNode(executor, node, leaseMs),
    nextStart: (least, step) => nextStart(executor, least, step),
    setKey: (id, keyId) => setNodeKey(executor, id, keyId),
    setFacts: (id, facts) => setNodeFacts(executor, id, facts),
    renew: (id, leaseMs) => renewNode(executor, id, leaseMs),
    lockShared: (id) => lockSharedNode(executor, id),
    giveUp: (id, isKnownDead) => giveUpNode(executor, id, isKnownDead),
    delete: (id) => deleteNode(executor, id),
  },
  sessions: {
    insert: (session, node) => insertSession(executor, session, node),
    attach: (id, feedId) => attachFeed(executor, id, feedId),
    end: (ends) => endSessions(executor, ends),
    endOfNode: (node, end) => endSessionsOfNode(executor, node, end),
    kick: (which, reason) => kickSession(executor, which, reason),
    kickAll: (scope, reason, limit) => kickSessions(executor, scope, reason, limit),
    count: (totals, atMs) => countUsage(executor, totals, atMs),
    prune: (beforeMs, limit) => pruneSessionsAndFeeds(executor, beforeMs, limit),
  },
  feeds: {
    insert: (feed) => insertFeed(executor, feed),
    lockOpen: (stream) => lockOpenFeeds(executor, stream),
    settle: (stream, latestMs, atMs) => settleFeeds(executor, stream, latestMs, atMs),
    end: (id, atMs) => endFeed(executor, id, atMs),
    report: (reports) => reportFeeds(executor, reports),
    count: (totals) => countFeedBytes(executor, totals),
    endOfSessions: (ends) => endFeedsOfSessions(executor, ends),
    endOfNode: (node, atMs) => endFeedsOfNode(executor, node, atMs),
  },
  streamNodes: {
    put: (node, streams) => putStreamNodes(executor, node, streams),
    delete: (node, streams) => deleteStreamNodes(executor, node, streams),
  },
  viewing: {
    attempt: (stream, atMs, quietMs) => noteAttempt(executor, stream, atMs, quietMs),
    begin: (stream) => beginViewing(executor, stream),
    desert: (stream, beforeMs) => desertStream(executor, stream, beforeMs),
    prune: (beforeMs) => pruneViewing(executor, beforeMs),
  },
  usage: { prune: (beforeMs, limit) => pruneUsage(executor, beforeMs, limit) },
  cacheLogs: {
    advance: (log, atMs) => advanceCacheLog(executor, log, atMs),
    position: (id) => cacheLogPosition(executor, id),
    count: (sent, atMs) => countCacheBytes(executor, sent, atMs),
    prune: (beforeMs, limit) => pruneCacheLogs(executor, beforeMs, limit),
  },
  minutes: {
    put: (minutes) => putMinutes(executor, minutes),
    prune: (beforeMs, limit) => pruneMinutes(executor, beforeMs, limit),
  },
})

/** The reads of sessions. */
export const sessionReadsOf = (
  executor: Executor,
): Pick<Reads, 'nodes' | 'sessions' | 'feeds' | 'streamNodes' | 'viewing' | 'usage' | 'minutes'> => ({
  nodes: {
    list: () => listNodes(executor),
    keys: () => nodeKeys(executor),
    facts: () => nodeFacts(executor),
    activity: (query) => nodeActivity(executor, query),
  },
  sessions: {
    get: (id) => getSession(executor, id),
    page: (query) => pageSessions(executor, query),
    count: (scope) => countSessions(executor, scope),
    kicked: (node, limit) => kickedSessions(executor, node, limit),
  },
  feeds: {
    tokenIds: (accountId, streamName) => tokensOnAir(executor, accountId, streamName),
    recentNames: (accountId, limit) => recentStreamNames(executor, accountId, limit),
    open: (limit) => openFeeds(executor, limit),
    remote: (node, limit) => remoteFeeds(executor, node, limit),
    broadcasts: (query) => pastBroadcasts(executor, query),
    onAir: (query) => streamsOnAir(executor, query),
    remoteOf: (node, stream) => remoteFeedsOf(executor, node, stream),
  },
  streamNodes: {
    sum: (query) => remoteViewing(executor, query),
    remoteViewers: (node) => remoteViewers(executor, node),
  },
  usage: { sum: (query) => sumUsage(executor, query), tracked: (query) => trackedUsage(executor, query) },
  minutes: { sum: (query) => sumMinutes(executor, query) },
  viewing: { idle: (beforeMs, limit) => idleStreams(executor, beforeMs, limit) },
})
