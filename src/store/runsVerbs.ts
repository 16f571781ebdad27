import type { RunReads, RunTx } from './runs.ts'
import type { Executor } from './executor.ts'
import * as events from './tables/channelEvents.ts'
import * as encoders from './tables/encoders.ts'
import * as engineStates from './tables/engineStates.ts'
import * as webhooks from './tables/channelWebhooks.ts'
import * as runs from './tables/runs.ts'
import * as schedulers from './tables/schedulers.ts'

/** The reads of runs, schedulers and webhooks of the channels interface on an executor. */
export function runReadsOf(executor: Executor): RunReads {
  return {
    engineStates: {
      busy: () => engineStates.busyEngineStates(executor),
      get: (engineId) => engineStates.getEngineState(executor, engineId),
    },
    encoders: { of: (ingestIds) => encoders.encoderClaims(executor, ingestIds) },
    runs: {
      page: (query) => runs.pageRuns(executor, query),
      within: (query) => runs.runsWithin(executor, query),
      exist: (accountId, of) => runs.existRuns(executor, accountId, of),
    },
    schedulers: {
      get: (accountId, id) => schedulers.getScheduler(executor, accountId, id),
      page: (query) => schedulers.pageSchedulers(executor, query),
      due: (nowMs, limit) => schedulers.dueSchedulers(executor, nowMs, limit),
      skips: (id, limit) => schedulers.skippedOccurrences(executor, id, limit),
    },
    channelWebhooks: {
      get: (accountId, id) => webhooks.getChannelWebhook(executor, accountId, id),
      page: (query) => webhooks.pageChannelWebhooks(executor, query),
      log: (query) => webhooks.pageLog(executor, query),
      probesDue: (query) => webhooks.channelProbesDue(executor, query),
    },
    channelEvents: { page: (query) => events.pageChannelEvents(executor, query) },
  }
}

/** The verbs of runs, schedulers and webhooks of the channels interface in a transaction. */
export function runTxOf(executor: Executor): RunTx {
  return {
    engineStates: {
      get: (engineId) => engineStates.getEngineState(executor, engineId),
      put: (state) => engineStates.putEngineState(executor, state),
      take: (engineId, node, leaseMs) => engineStates.takeEngine(executor, engineId, node, leaseMs),
      renew: (node, leaseMs) => engineStates.renewEngines(executor, node, leaseMs),
      delete: (engineId) => engineStates.deleteEngineState(executor, engineId),
    },
    encoders: {
      of: (ingestIds) => encoders.encoderClaims(executor, ingestIds),
      claim: (of, times) => encoders.claimIngest(executor, of, times),
      release: (node) => encoders.releaseClaims(executor, node),
      prune: (beforeMs) => encoders.pruneClaims(executor, beforeMs),
    },
    runs: {
      insert: (run) => runs.insertRun(executor, run),
      get: (id) => runs.getRun(executor, id),
      end: (id, stop, span) => runs.endRun(executor, id, stop, span),
      keep: (id, by) => runs.keepRun(executor, id, by),
      prune: (beforeMs, limit) => runs.pruneRuns(executor, beforeMs, limit),
    },
    schedulers: {
      insert: (scheduler) => schedulers.insertScheduler(executor, scheduler),
      lock: (accountId, id) => schedulers.lockScheduler(executor, accountId, id),
      replace: (scheduler) => schedulers.replaceScheduler(executor, scheduler),
      delete: (id) => schedulers.deleteScheduler(executor, id),
      lockNaming: (accountId, channelId) => schedulers.lockSchedulersNaming(executor, accountId, channelId),
      otherActive: (accountId, id) => schedulers.otherActiveSchedulers(executor, accountId, id),
      count: (accountId) => schedulers.countSchedulers(executor, accountId),
      skip: (rows) => schedulers.skipOccurrences(executor, rows),
      pruneSkips: (beforeMs, limit) => schedulers.pruneSkips(executor, beforeMs, limit),
    },
    channelWebhooks: {
      insert: (webhook) => webhooks.insertChannelWebhook(executor, webhook),
      lock: (accountId, id) => webhooks.lockChannelWebhook(executor, accountId, id),
      replace: (webhook) => webhooks.replaceChannelWebhook(executor, webhook),
      active: (accountId) => webhooks.activeChannelWebhooks(executor, accountId),
      count: (accountId) => webhooks.countChannelWebhooks(executor, accountId),
    },
    channelEvents: {
      insert: (rows) => events.insertChannelEvents(executor, rows),
      prune: (beforeMs, limit) => events.pruneChannelEvents(executor, beforeMs, limit),
    },
  }
}
