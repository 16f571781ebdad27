import type { LiveReads, LiveTx } from './live.ts'
import type { Session } from './session.ts'
import * as ladders from './tables/abrLadders.ts'
import * as channels from './tables/channels.ts'
import * as distributions from './tables/distributions.ts'
import * as engines from './tables/engines.ts'
import * as ingests from './tables/ingests.ts'
import * as served from './tables/served.ts'

/** The reading verbs of live channels over one session. */
export function liveReadsOf(session: Session): LiveReads {
  return {
    channels: {
      get: (accountId, id) => channels.getChannel(session, accountId, id),
      page: (query) => channels.pageChannels(session, query),
    },
    ingests: {
      get: (accountId, id) => ingests.getIngest(session, accountId, id),
      page: (query) => ingests.pageIngests(session, query),
      ofChannel: (channelId) => ingests.ingestsOf(session, channelId),
      findByKeyHash: (hash) => ingests.findIngestByKeyHash(session, hash),
      keyHashes: (ids) => ingests.keyHashesOf(session, ids),
    },
    engines: {
      get: (accountId, id) => engines.getEngine(session, accountId, id),
      page: (query) => engines.pageEngines(session, query),
      ofChannel: (channelId) => engines.enginesOf(session, channelId),
      unstopped: () => engines.unstoppedEngines(session),
    },
    distributions: {
      get: (accountId, id) => distributions.getDistribution(session, accountId, id),
      page: (query) => distributions.pageDistributions(session, query),
      ofChannel: (channelId) => distributions.distributionsOf(session, channelId),
      find: (id) => distributions.findDistribution(session, id),
    },
    distributionKeys: { list: (distributionId) => distributions.distributionKeysOf(session, distributionId) },
    served: {
      sum: (query) => served.sumServed(session, query),
      exists: (accountId, of) => served.existsServed(session, accountId, of),
    },
    abrLadders: {
      get: (accountId, id) => ladders.getAbrLadder(session, accountId, id),
      list: (accountId) => ladders.listAbrLadders(session, accountId),
    },
  }
}

/** The verbs of a transaction over live channels. */
export function liveTxOf(session: Session): LiveTx {
  return { ...channelParts(session), ...distributionParts(session) }
}

function channelParts(session: Session): Pick<LiveTx, 'channels' | 'ingests' | 'engines'> {
  return {
    channels: {
      get: (accountId, id) => channels.getChannel(session, accountId, id),
      lock: (accountId, id) => channels.lockChannel(session, accountId, id),
      insert: (channel) => channels.insertChannel(session, channel),
      replace: (channel) => channels.replaceChannel(session, channel),
      setStatus: (id, status) => channels.setChannelStatus(session, id, status),
      delete: (id) => channels.deleteChannel(session, id),
    },
    ingests: {
      get: (accountId, id) => ingests.getIngest(session, accountId, id),
      ofChannel: (channelId) => ingests.ingestsOf(session, channelId),
      insert: (ingest) => ingests.insertIngest(session, ingest),
      replace: (ingest) => ingests.replaceIngest(session, ingest),
      delete: (id) => ingests.deleteIngest(session, id),
    },
    engines: {
      get: (accountId, id) => engines.getEngine(session, accountId, id),
      ofChannel: (channelId) => engines.enginesOf(session, channelId),
      insert: (engine) => engines.insertEngine(session, engine),
      replace: (engine) => engines.replaceEngine(session, engine),
      setStatus: (id, status, message) => engines.setEngineStatus(session, id, status, message),
      delete: (id) => engines.deleteEngine(session, id),
      usingLadder: (abrLadderId) => engines.engineUsingLadder(session, abrLadderId),
    },
  }
}

function distributionParts(
  session: Session,
): Pick<LiveTx, 'distributions' | 'distributionKeys' | 'served' | 'abrLadders'> {
  return {
    distributions: {
      get: (accountId, id) => distributions.getDistribution(session, accountId, id),
      ofChannel: (channelId) => distributions.distributionsOf(session, channelId),
      insert: (distribution) => distributions.insertDistribution(session, distribution),
      replace: (distribution) => distributions.replaceDistribution(session, distribution),
      delete: (id) => distributions.deleteDistribution(session, id),
    },
    distributionKeys: {
      list: (distributionId) => distributions.distributionKeysOf(session, distributionId),
      insert: (key) => distributions.insertDistributionKey(session, key),
      delete: (id) => distributions.deleteDistributionKey(session, id),
    },
    served: {
      add: (rows) => served.addServed(session, rows),
      prune: (beforeMs, limit) => served.pruneServed(session, beforeMs, limit),
    },
    abrLadders: {
      get: (accountId, id) => ladders.getAbrLadder(session, accountId, id),
      lock: (accountId, id) => ladders.lockAbrLadder(session, accountId, id),
      list: (accountId) => ladders.listAbrLadders(session, accountId),
      insert: (ladder) => ladders.insertAbrLadder(session, ladder),
      replace: (ladder) => ladders.replaceAbrLadder(session, ladder),
      delete: (id) => ladders.deleteAbrLadder(session, id),
    },
  }
}
