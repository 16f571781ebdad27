import type { Session } from './session.ts'
import type { Reads, Tx } from './store.ts'
import {
  endFeed,
  endFeedsOfNode,
  endFeedsOfSessions,
  feedsElsewhere,
  feedsElsewhereOf,
  insertFeed,
  lastFeedEnd,
  lockOpenFeeds,
  openFeeds,
  tokensOnAir,
} from './tables/feeds.ts'
import { deleteNode, giveUpNode, holdNode, insertNode, listNodes, renewNode } from './tables/nodes.ts'
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
import { pruneUsage, sumUsage } from './tables/usageReads.ts'
import { beginViewing, desertedStreams, desertStream, noteAttempt, pruneViewing } from './tables/viewing.ts'

/** The verbs of live sessions inside a transaction. */
export const sessionTxOf = (session: Session): Pick<Tx, 'nodes' | 'sessions' | 'feeds' | 'viewing' | 'usage'> => ({
  nodes: {
    insert: (node, leaseMs) => insertNode(session, node, leaseMs),
    renew: (id, leaseMs) => renewNode(session, id, leaseMs),
    hold: (id) => holdNode(session, id),
    giveUp: (id, isKnownDead) => giveUpNode(session, id, isKnownDead),
    delete: (id) => deleteNode(session, id),
  },
  sessions: {
    insert: (live, node) => insertSession(session, live, node),
    attach: (id, feedId) => attachFeed(session, id, feedId),
    end: (ends) => endSessions(session, ends),
    endOfNode: (node, end) => endSessionsOfNode(session, node, end),
    kick: (which, reason) => kickSession(session, which, reason),
    kickAll: (scope, reason, limit) => kickSessions(session, scope, reason, limit),
    count: (totals, atMs) => countUsage(session, totals, atMs),
    prune: (beforeMs, limit) => pruneSessionsAndFeeds(session, beforeMs, limit),
  },
  feeds: {
    insert: (feed) => insertFeed(session, feed),
    lockOpen: (stream) => lockOpenFeeds(session, stream),
    lastEnd: (stream) => lastFeedEnd(session, stream),
    end: (id, atMs) => endFeed(session, id, atMs),
    endOfSessions: (ends) => endFeedsOfSessions(session, ends),
    endOfNode: (node, atMs) => endFeedsOfNode(session, node, atMs),
  },
  viewing: {
    attempt: (stream, atMs, quietMs) => noteAttempt(session, stream, atMs, quietMs),
    begin: (stream) => beginViewing(session, stream),
    desert: (stream, beforeMs) => desertStream(session, stream, beforeMs),
    prune: (beforeMs) => pruneViewing(session, beforeMs),
  },
  usage: { prune: (beforeMs, limit) => pruneUsage(session, beforeMs, limit) },
})

/** The reading verbs of live sessions. */
export const sessionReadsOf = (
  session: Session,
): Pick<Reads, 'nodes' | 'sessions' | 'feeds' | 'viewing' | 'usage'> => ({
  nodes: { list: () => listNodes(session) },
  sessions: {
    get: (id) => getSession(session, id),
    page: (query) => pageSessions(session, query),
    count: (scope) => countSessions(session, scope),
    kicked: (node, limit) => kickedSessions(session, node, limit),
  },
  feeds: {
    tokenIds: (accountId, streamName) => tokensOnAir(session, accountId, streamName),
    open: (limit) => openFeeds(session, limit),
    elsewhere: (node, limit) => feedsElsewhere(session, node, limit),
    elsewhereOf: (node, stream) => feedsElsewhereOf(session, node, stream),
  },
  usage: { sum: (query) => sumUsage(session, query) },
  viewing: { deserted: (beforeMs, limit) => desertedStreams(session, beforeMs, limit) },
})
