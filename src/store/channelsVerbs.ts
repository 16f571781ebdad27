import type { ChannelReads, ChannelTx } from './channels.ts'
import type { Executor } from './executor.ts'
import * as ladders from './tables/abrLadders.ts'
import * as channels from './tables/channels.ts'
import * as distributions from './tables/distributions.ts'
import * as engines from './tables/engines.ts'
import * as ingests from './tables/ingests.ts'
import * as served from './tables/served.ts'
import * as slates from './tables/slates.ts'

/** The reads of channels on an executor. */
export function channelReadsOf(executor: Executor): ChannelReads {
  return {
    channels: {
      get: (accountId, id) => channels.getChannel(executor, accountId, id),
      page: (query) => channels.pageChannels(executor, query),
    },
    slates: { media: (id) => slates.getSlateMedia(executor, id) },
    ingests: {
      get: (accountId, id) => ingests.getIngest(executor, accountId, id),
      page: (query) => ingests.pageIngests(executor, query),
      ofChannel: (channelId) => ingests.ingestsOf(executor, channelId),
      findByKeyHash: (hash) => ingests.findIngestByKeyHash(executor, hash),
      keyHashes: (ids) => ingests.keyHashesOf(executor, ids),
    },
    engines: {
      get: (accountId, id) => engines.getEngine(executor, accountId, id),
      page: (query) => engines.pageEngines(executor, query),
      ofChannel: (channelId) => engines.enginesOf(executor, channelId),
      unstopped: () => engines.unstoppedEngines(executor),
    },
    distributions: {
      get: (accountId, id) => distributions.getDistribution(executor, accountId, id),
      page: (query) => distributions.pageDistributions(executor, query),
      ofChannel: (channelId) => distributions.distributionsOf(executor, channelId),
      find: (id) => distributions.findDistribution(executor, id),
    },
    distributionKeys: { list: (distributionId) => distributions.distributionKeysOf(executor, distributionId) },
    served: {
      sum: (query) => served.sumServed(executor, query),
      exists: (accountId, of) => served.existsServed(executor, accountId, of),
    },
    abrLadders: {
      get: (accountId, id) => ladders.getAbrLadder(executor, accountId, id),
      list: (accountId) => ladders.listAbrLadders(executor, accountId),
    },
  }
}

/** The verbs of channels in a transaction. */
export function channelTxOf(executor: Executor): ChannelTx {
  return { ...channelParts(executor), ...distributionParts(executor) }
}

function channelParts(executor: Executor): Pick<ChannelTx, 'channels' | 'ingests' | 'engines'> {
  return {
    channels: {
      get: (accountId, id) => channels.getChannel(executor, accountId, id),
      lock: (accountId, id) => channels.lockChannel(executor, accountId, id),
      insert: (channel) => channels.insertChannel(executor, channel),
      replace: (channel) => channels.replaceChannel(executor, channel),
      setStatus: (id, status) => channels.setChannelStatus(executor, id, status),
      setSlate: (id, slate) => channels.setChannelSlate(executor, id, slate),
      delete: (id) => channels.deleteChannel(executor, id),
    },
    ingests: {
      get: (accountId, id) => ingests.getIngest(executor, accountId, id),
      ofChannel: (channelId) => ingests.ingestsOf(executor, channelId),
      insert: (ingest) => ingests.insertIngest(executor, ingest),
      replace: (ingest) => ingests.replaceIngest(executor, ingest),
      delete: (id) => ingests.deleteIngest(executor, id),
    },
    engines: {
      get: (accountId, id) => engines.getEngine(executor, accountId, id),
      ofChannel: (channelId) => engines.enginesOf(executor, channelId),
      insert: (engine) => engines.insertEngine(executor, engine),
      replace: (engine) => engines.replaceEngine(executor, engine),
      setStatus: (id, status, message) => engines.setEngineStatus(executor, id, status, message),
      delete: (id) => engines.deleteEngine(executor, id),
      usingLadder: (abrLadderId) => engines.engineUsingLadder(executor, abrLadderId),
    },
  }
}

function distributionParts(
  executor: Executor,
): Pick<ChannelTx, 'distributions' | 'distributionKeys' | 'served' | 'abrLadders'> {
  return {
    distributions: {
      get: (accountId, id) => distributions.getDistribution(executor, accountId, id),
      ofChannel: (channelId) => distributions.distributionsOf(executor, channelId),
      insert: (distribution) => distributions.insertDistribution(executor, distribution),
      replace: (distribution) => distributions.replaceDistribution(executor, distribution),
      delete: (id) => distributions.deleteDistribution(executor, id),
    },
    distributionKeys: {
      list: (distributionId) => distributions.distributionKeysOf(executor, distributionId),
      insert: (key) => distributions.insertDistributionKey(executor, key),
      delete: (id) => distributions.deleteDistributionKey(executor, id),
    },
    served: {
      add: (rows) => served.addServed(executor, rows),
      prune: (beforeMs, limit) => served.pruneServed(executor, beforeMs, limit),
    },
    abrLadders: {
      get: (accountId, id) => ladders.getAbrLadder(executor, accountId, id),
      lock: (accountId, id) => ladders.lockAbrLadder(executor, accountId, id),
      list: (accountId) => ladders.listAbrLadders(executor, accountId),
      insert: (ladder) => ladders.insertAbrLadder(executor, ladder),
      replace: (ladder) => ladders.replaceAbrLadder(executor, ladder),
      delete: (id) => ladders.deleteAbrLadder(executor, id),
    },
  }
}
