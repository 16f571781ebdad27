import { isoTime } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'
import { Problems } from '../validation/problems.ts'
import { readShape, type BodyReader } from '../validation/bodyReader.ts'
import { readName } from './name.ts'
import { CreateEngine, CreateEngineOfIngest, type EngineRecord, UpdateEngine } from './engineSchema.ts'
import { type NewEngineTarget, readEngineTargets } from './engineTargets.ts'
import { DEFAULT_LADDER_ID } from './ladder.ts'
import { hasSecretUrl, isMasked } from '../restream/targets.ts'
import { readRegion } from './region.ts'
import type { Engine, ChannelSettings } from './types.ts'

/** An engine to be created. */
export interface NewEngine extends Pick<Engine, 'name' | 'region' | 'ingestId' | 'abrLadderId' | 'priority'> {
  readonly targets: readonly NewEngineTarget[]
}

/** The fields in an update. */
export type EnginePatch = Partial<NewEngine>

/** Parses the body of a create on a channel. */
export function readCreateEngine(body: unknown, settings: ChannelSettings): Result<NewEngine, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(CreateEngine, body, problems)
  return problems.settle({ ...readEngineBody(reader, settings), ingestId: reader.value('ingestId') ?? null })
}

/** Parses the body of a create on an ingest, which the body does not name again. */
export function readCreateEngineOfIngest(body: unknown, settings: ChannelSettings): Result<NewEngine, FieldErrors> {
  const problems = new Problems()
  return problems.settle(readEngineBody(readShape(CreateEngineOfIngest, body, problems), settings))
}

type Common = Omit<CreateEngine, 'ingestId'>

/** The same for an engine inside a larger body. Errors are added to its problems. */
export function readEngineBody(body: BodyReader<Common>, settings: ChannelSettings): NewEngine {
  checkOutputs(body)
  return {
    name: readName(body) ?? '',
    region: readRegion(body, settings) ?? '',
    ingestId: null,
    abrLadderId: body.part('quality').value('abrLadderId') ?? DEFAULT_LADDER_ID,
    priority: body.value('priority') ?? 0,
    targets: readNewTargets(body, settings),
  }
}

/** No key can be kept for an engine that is new. */
function readNewTargets(body: BodyReader<Common>, { sources: policy }: ChannelSettings): readonly NewEngineTarget[] {
  const targets = readEngineTargets(body, policy) ?? []
  for (const [at, { key }] of targets.entries()) {
    if (isMasked(key)) body.problems.add(`${body.at}restream[${at}].${hasSecretUrl(key) ? 'url' : 'key'}`, NOT_WHOLE)
  }
  return targets
}

const NOT_WHOLE = 'has the end of a secret; send it whole'

export function readUpdateEngine(body: unknown, settings: ChannelSettings): Result<EnginePatch, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(UpdateEngine, body, problems)
  checkOutputs(reader)
  const name = readName(reader)
  const region = reader.value('region') === undefined ? undefined : readRegion(reader, settings)
  const ingestId = reader.clears('ingestId') ? null : reader.value('ingestId')
  const abrLadderId = reader.part('quality').value('abrLadderId')
  const priority = reader.value('priority')
  const targets = readEngineTargets(reader, settings.sources)
  return problems.settle({
    ...(name === undefined ? {} : { name }),
    ...(region === undefined ? {} : { region }),
    ...(ingestId === undefined ? {} : { ingestId }),
    ...(abrLadderId === undefined ? {} : { abrLadderId }),
    ...(priority === undefined ? {} : { priority }),
    ...(targets === undefined ? {} : { targets }),
  })
}

function checkOutputs(body: BodyReader<Pick<UpdateEngine, 'outputs'>>): void {
  const outputs = body.part('outputs')
  if (outputs.value('hls') === false) outputs.problems.add(`${outputs.at}hls`, 'must be true: HLS is what engines make')
}

export function toEngineRecord(engine: Engine): EngineRecord {
  return {
    id: engine.id,
    channelId: engine.channelId,
    ...(engine.ingestId === null ? {} : { ingestId: engine.ingestId }),
    name: engine.name,
    region: engine.region,
    quality: { abrLadderId: engine.abrLadderId },
    priority: engine.priority,
    drm: false,
    overlays: [],
    outputs: { hesp: false, hls: true, hlsMpegTs: false, llHls: true },
    restream: engine.restream.map(({ shownKey: key, ...target }) => ({ ...target, key })),
    status: engine.status,
    ...messageOf(engine),
    createdAt: isoTime(engine.createdAtMs),
    updatedAt: isoTime(engine.updatedAtMs),
  }
}

function messageOf({ statusMessage }: Engine): Pick<EngineRecord, 'statusMessage' | 'statusSentences'> {
  if (statusMessage === null) return {}
  const { text, sentences } = statusMessage
  return { statusMessage: text, ...(sentences.length === 0 ? {} : { statusSentences: [...sentences] }) }
}
