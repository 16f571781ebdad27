import { err, ok, type Result } from '../../base/result.ts'
import type { NewChannel } from '../../core/channels/channel.ts'
import type { DistributionRecord } from '../../core/channels/distributionSchema.ts'
import { toDistributionRecord, toKeyRecord } from '../../core/channels/distribution.ts'
import { toEngineRecord } from '../../core/channels/engine.ts'
import type { EngineRecord } from '../../core/channels/engineSchema.ts'
import { type ChannelFailure, validationFailed } from '../../core/channels/errors.ts'
import type { IngestRecord } from '../../core/channels/ingestSchema.ts'
import type { Channel, Distribution, Engine } from '../../core/channels/types.ts'
import type { DistributionKey, StoredIngest, Tx } from '../../store/store.ts'
import type { Actor, ChannelContext } from '../context.ts'
import { addDistribution, newDistribution } from './distributions.ts'
import { addEngine, newEngine } from './engines.ts'
import { addIngest, ingestRecord, newIngest } from './ingests.ts'
import { hasLadder, noLadder } from './ladders.ts'

/** The parts that are created together with a channel. */
export interface Children {
  ingests: StoredIngest[]
  /** Each with the path of its ladder in the body. */
  engines: { engine: Engine; ladderPath: string }[]
  distributions: { distribution: Distribution; keys: DistributionKey[] }[]
}

export interface ChildRecords {
  ingests: IngestRecord[]
  engines: EngineRecord[]
  distributions: DistributionRecord[]
}

/** Gives every part its id. All engines feed all distributions. */
export function childrenOf(ctx: ChannelContext, channel: Channel, body: NewChannel): Children {
  const ingests: Children['ingests'] = []
  const engines: Children['engines'] = []
  for (const [i, { engines: own, ...rules }] of body.ingests.entries()) {
    const ingest = newIngest(ctx, channel, rules)
    ingests.push(ingest)
    for (const [j, engine] of own.entries()) {
      const ladderPath = `ingests[${i}].engines[${j}].quality.abrLadderId`
      engines.push({ engine: newEngine(ctx, channel, { ...engine, ingestId: ingest.id }), ladderPath })
    }
  }
  const engineIds = engines.map(({ engine }) => engine.id)
  const distributions = body.distributions.map(({ rules, keys }) =>
    newDistribution(ctx, channel, { rules: { ...rules, engineIds }, keys }),
  )
  return { ingests, engines, distributions }
}

/** Checks that everything that the parts name exists. */
export async function checkChildren(
  tx: Tx,
  accountId: string,
  { engines }: Children,
): Promise<Result<true, ChannelFailure>> {
  const wrong: Record<string, string[]> = {}
  for (const { engine, ladderPath } of engines) {
    if (!(await hasLadder(tx, accountId, engine.abrLadderId))) wrong[ladderPath] = [noLadder(engine.abrLadderId)]
  }
  return Object.keys(wrong).length === 0 ? ok(true) : err(validationFailed(wrong))
}

export async function addChildren(tx: Tx, actor: Actor, atMs: number, children: Children): Promise<void> {
  for (const ingest of children.ingests) await addIngest(tx, actor, atMs, ingest)
  for (const { engine } of children.engines) await addEngine(tx, actor, atMs, engine)
  for (const made of children.distributions) await addDistribution(tx, actor, atMs, made)
}

export function toChildRecords(ctx: ChannelContext, { ingests, engines, distributions }: Children): ChildRecords {
  return {
    ingests: ingests.map((ingest) => ingestRecord(ctx, ingest)),
    engines: engines.map(({ engine }) => toEngineRecord(engine)),
    distributions: distributions.map(({ distribution, keys }) =>
      toDistributionRecord(distribution, keys.map(toKeyRecord)),
    ),
  }
}
