import { err, ok, type Result } from '../../base/result.ts'
import type { NewChannel } from '../../core/channels/channel.ts'
import type { DistributionRecord } from '../../core/channels/distributionSchema.ts'
import { toDistributionRecord, toKeyRecord } from '../../core/channels/distribution.ts'
import { toEngineRecord } from '../../core/channels/engine.ts'
import type { EngineRecord } from '../../core/channels/engineSchema.ts'
import { type ChannelFailure, validationFailed } from '../../core/channels/errors.ts'
import type { IngestRecord } from '../../core/channels/ingestSchema.ts'
import type { Channel, Distribution, Engine } from '../../core/channels/types.ts'
import type { FieldErrors } from '../../core/errors.ts'
import type { DistributionKey, StoredIngest, Tx } from '../../store/store.ts'
import type { ChannelContext } from '../context.ts'
import type { ResourceChange } from './channelCommand.ts'
import { createdDistribution, insertDistributions, newDistribution } from './distributions.ts'
import { createdEngine, newEngine } from './engines.ts'
import { createdIngest, ingestRecord, newIngest } from './ingests.ts'
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
  const missing = new Set<string>()
  // Every transaction locks ladders in the same order, to avoid deadlocks.
  for (const id of new Set(engines.map(({ engine }) => engine.abrLadderId).toSorted())) {
    if (!(await hasLadder(tx, accountId, id))) missing.add(id)
  }
  const wrong = engines
    .filter(({ engine }) => missing.has(engine.abrLadderId))
    .map(({ engine, ladderPath }) => [ladderPath, [noLadder(engine.abrLadderId)]])
  return wrong.length === 0 ? ok(true) : err(validationFailed(Object.fromEntries(wrong) as FieldErrors))
}

/** Writes the parts, and returns their changes. */
export async function insertChildren(
  tx: Tx,
  channel: Channel,
  { ingests, engines, distributions }: Children,
): Promise<ResourceChange[]> {
  await tx.ingests.insert(...ingests)
  await tx.engines.insert(...engines.map(({ engine }) => engine))
  await insertDistributions(tx, ...distributions)
  return [
    ...ingests.map((ingest) => createdIngest(ingest, channel)),
    ...engines.map(({ engine }) => createdEngine(engine, channel)),
    ...distributions.map((made) => createdDistribution(made, channel)),
  ]
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
