import type { Session } from './session.ts'
import type { Reads, Tx } from './store.ts'
import {
  endFeed,
  endFeedOfSession,
  endFeedsOfNode,
  feedsElsewhere,
  insertFeed,
  lastFeedEnd,
  lockOpenFeeds,
  openFeeds,
  tokensOnAir,
} from './tables/feeds.ts'
import { beatNode, deleteNode, holdNode, insertNode, listNodes, lockDeadNode } from './tables/nodes.ts'
import {
  attachFeed,
  endSession,
  endSessionsOfNode,
  getSession,
  insertSession,
  kickedSessions,
  kickSessions,
  pageSessions,
  pruneSessionsAndFeeds,
} from './tables/sessions.ts'
import { countUsage } from './tables/usage.ts'
import { pruneUsage, sumUsage } from './tables/usageReads.ts'
import { beginViewing, desertedStreams, desertStream, noteAttempt, pruneViewing } from './tables/viewing.ts'

/** The verbs of live sessions inside a transaction. */
export const sessionTxOf = (session: Session): Pick<Tx, 'nodes' | 'sessions' | 'feeds' | 'viewing' | 'usage'> => ({
  nodes: {
    insert: (node) => insertNode(session, node),
    beat: (id, seenAtMs, aliveUntilMs) => beatNode(session, id, seenAtMs, aliveUntilMs),
    hold: (id) => holdNode(session, id),
    lockDead: (node) => lockDeadNode(session, node),
    delete: (id) => deleteNode(session, id),
  },
  sessions: {
    insert: (live, node) => insertSession(session, live, node),
    attach: (id, feedId) => attachFeed(session, id, feedId),
    end: (id, atMs, reason) => endSession(session, id, atMs, reason),
    endOfNode: (node, atMs, reason) => endSessionsOfNode(session, node, atMs, reason),
    kick: (which, reason) => kickSessions(session, which, reason),
    count: (totals, atMs) => countUsage(session, totals, atMs),
    prune: (beforeMs, limit) => pruneSessionsAndFeeds(session, beforeMs, limit),
  },
  feeds: {
    insert: (feed) => insertFeed(session, feed),
    lockOpen: (stream) => lockOpenFeeds(session, stream),
    lastEnd: (stream) => lastFeedEnd(session, stream),
    end: (id, atMs) => endFeed(session, id, atMs),
    endOfSession: (id, atMs) => endFeedOfSession(session, id, atMs),
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
    kicked: (node, limit) => kickedSessions(session, node, limit),
  },
  feeds: {
    tokenIds: (accountId, streamName) => tokensOnAir(session, accountId, streamName),
    open: (limit) => openFeeds(session, limit),
    elsewhere: (node, limit) => feedsElsewhere(session, node, limit),
  },
  usage: { sum: (query) => sumUsage(session, query) },
  viewing: { deserted: (beforeMs, limit) => desertedStreams(session, beforeMs, limit) },
})
