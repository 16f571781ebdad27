import type { RunReads, RunTx } from './runs.ts'
import type { Session } from './session.ts'
import * as events from './tables/channelEvents.ts'
import * as lives from './tables/lives.ts'
import * as webhooks from './tables/liveWebhooks.ts'
import * as runs from './tables/runs.ts'
import * as schedulers from './tables/schedulers.ts'

/** The reading verbs of runs, schedulers and the live interface's webhooks over one session. */
export function runReadsOf(session: Session): RunReads {
  return {
    lives: { busy: () => lives.busyLives(session), get: (engineId) => lives.getLife(session, engineId) },
    runs: {
      page: (query) => runs.pageRuns(session, query),
      within: (query) => runs.runsWithin(session, query),
      exist: (accountId, of) => runs.existRuns(session, accountId, of),
    },
    schedulers: {
      get: (accountId, id) => schedulers.getScheduler(session, accountId, id),
      page: (query) => schedulers.pageSchedulers(session, query),
      due: (nowMs, limit) => schedulers.dueSchedulers(session, nowMs, limit),
      skips: (id, limit) => schedulers.skippedOccurrences(session, id, limit),
    },
    liveWebhooks: {
      get: (accountId, id) => webhooks.getLiveWebhook(session, accountId, id),
      page: (query) => webhooks.pageLiveWebhooks(session, query),
      log: (query) => webhooks.pageLog(session, query),
      probesDue: (query) => webhooks.liveProbesDue(session, query),
    },
    channelEvents: { page: (query) => events.pageChannelEvents(session, query) },
  }
}

/** Their verbs in a transaction. */
export function runTxOf(session: Session): RunTx {
  return {
    lives: {
      get: (engineId) => lives.getLife(session, engineId),
      put: (life) => lives.putLife(session, life),
      take: (engineId, node, leaseMs) => lives.takeEngine(session, engineId, node, leaseMs),
      renew: (node, leaseMs) => lives.renewEngines(session, node, leaseMs),
      delete: (engineId) => lives.deleteLife(session, engineId),
    },
    runs: {
      insert: (run) => runs.insertRun(session, run),
      get: (id) => runs.getRun(session, id),
      end: (id, stop, endedAtMs) => runs.endRun(session, id, stop, endedAtMs),
      keep: (id, by) => runs.keepRun(session, id, by),
      prune: (beforeMs, limit) => runs.pruneRuns(session, beforeMs, limit),
    },
    schedulers: {
      insert: (scheduler) => schedulers.insertScheduler(session, scheduler),
      lock: (accountId, id) => schedulers.lockScheduler(session, accountId, id),
      replace: (scheduler) => schedulers.replaceScheduler(session, scheduler),
      delete: (id) => schedulers.deleteScheduler(session, id),
      lockNaming: (accountId, channelId) => schedulers.lockSchedulersNaming(session, accountId, channelId),
      otherActive: (accountId, id) => schedulers.otherActiveSchedulers(session, accountId, id),
      count: (accountId) => schedulers.countSchedulers(session, accountId),
      skip: (rows) => schedulers.skipOccurrences(session, rows),
      pruneSkips: (beforeMs, limit) => schedulers.pruneSkips(session, beforeMs, limit),
    },
    liveWebhooks: {
      insert: (webhook) => webhooks.insertLiveWebhook(session, webhook),
      lock: (accountId, id) => webhooks.lockLiveWebhook(session, accountId, id),
      replace: (webhook) => webhooks.replaceLiveWebhook(session, webhook),
      active: (accountId) => webhooks.activeLiveWebhooks(session, accountId),
      count: (accountId) => webhooks.countLiveWebhooks(session, accountId),
    },
    channelEvents: {
      insert: (rows) => events.insertChannelEvents(session, rows),
      prune: (beforeMs, limit) => events.pruneChannelEvents(session, beforeMs, limit),
    },
  }
}
