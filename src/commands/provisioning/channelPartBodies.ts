import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { toDistributionRecord } from '../../core/channels/distribution.ts'
import { INGEST_TYPES, isPush } from '../../core/channels/types.ts'
import { OWN_OF_CHANNELS, without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import type { ChangedSetting } from '../../core/provisioning/types.ts'
import type { Tx } from '../../store/store.ts'
import type { ChannelContext } from '../context.ts'
import { createDistribution, updateDistribution } from '../channels/distributions.ts'
import { createEngine, createEngineOfIngest, updateEngine } from '../channels/engines.ts'
import { engineWithKeys } from '../channels/engineTargets.ts'
import { createIngest, ingestRecord, rotateKey, sourceOf, updateIngest } from '../channels/ingests.ts'
import { chosenId, type ItemProblems, patchOf, type Provisioning, withProblems } from './kind.ts'

type Body = Readonly<Record<string, unknown>>

/** The lists of parts of a channel, in the order in which they are made: engines name ingests, and so on. */
export const PART_LISTS = ['ingests', 'engines', 'distributions'] as const
type PartList = (typeof PART_LISTS)[number]

/** A part of a channel in the file, and its record if there is one. */
export interface PartBody {
  readonly body: Body
  readonly record: (object & { readonly id: string }) | undefined
  readonly path: string
  /** Of an engine: the ingest under which the file has it, '' until that is made; undefined: it has none. */
  readonly ingestId?: string | undefined
}

/**
 * Makes and changes the parts of a channel that the file has.
 * @param isNew the channel was made just now: all of its engines feed a distribution that names none
 */
export async function applyParts(
  within: Provisioning,
  id: string,
  body: Body,
  { isNew }: { readonly isNew: boolean },
): Promise<Result<unknown, ItemProblems>> {
  for (const list of PART_LISTS) {
    if (!Array.isArray(body[list] ?? [])) return err([{ path: list, message: 'must be a list' }])
    const parts = (await partBodies(within, id, body))[list]
    const engineIds = isNew ? (await within.tx.engines.ofChannel(id)).map((engine) => engine.id) : []
    for (const part of parts) {
      const done =
        part.record === undefined
          ? await makePart(within, list, id, part, engineIds)
          : await changePart(within, list, part.record.id, changesOf(part))
      if (!done.ok) return err(atPart(part, done.error))
    }
  }
  return ok(true)
}

async function makePart(
  { ctx, actor }: Provisioning,
  list: PartList,
  channelId: string,
  part: PartBody,
  engineIds: readonly string[],
): Promise<Result<unknown, ItemProblems>> {
  const chosen = chosenOf(list, part.body)
  if (!chosen.ok) return chosen
  const body = without(part.body, ['engines', ...OWN_OF_CHANNELS])
  const make = {
    ingests: () => createIngest(ctx, actor, channelId, body, chosen.value),
    engines: () =>
      part.ingestId === undefined
        ? createEngine(ctx, actor, channelId, body, chosen.value.id)
        : createEngineOfIngest(ctx, actor, part.ingestId, body, chosen.value.id),
    distributions: () => createDistribution(ctx, actor, channelId, { endpoints: { engineIds }, ...body }, chosen.value),
  }
  const made = await make[list]()
  return withProblems<unknown>(made)
}

async function changePart(
  { ctx, actor }: Provisioning,
  list: PartList,
  id: string,
  changed: readonly ChangedSetting[],
): Promise<Result<unknown, ItemProblems>> {
  const { streamKey, ...patch } = patchOf(changed)
  const key = readStreamKey(streamKey)
  if (!key.ok) return key
  const change = { ingests: updateIngest, engines: updateEngine, distributions: updateDistribution }[list]
  const done = Object.keys(patch).length === 0 ? ok(true) : await change(ctx, actor, id, patch)
  if (!done.ok) return withProblems(done)
  const rotated = key.value === undefined ? ok(true) : await rotateKey(ctx, actor, id, key.value)
  return withProblems<unknown>(rotated)
}

interface Chosen {
  readonly id: string | undefined
  readonly streamKey: string | undefined
  readonly closedWithoutKey: boolean
}

/** What a file chooses for a new part, beside what the API takes. */
function chosenOf(
  list: PartList,
  { id: given, type, streamKey, closedWithoutKey = false }: Body,
): Result<Chosen, ItemProblems> {
  const id = chosenId(PREFIXES[list], given)
  if (!id.ok) return id
  const isKeyed = list === 'ingests' && PUSHES.includes(type)
  const key =
    isKeyed || streamKey === undefined
      ? readStreamKey(streamKey)
      : err(wrongKey(`is for ingests of ${PUSHES.join(' and ')}`))
  if (!key.ok) return key
  if (typeof closedWithoutKey !== 'boolean')
    return err([{ path: 'closedWithoutKey', message: 'must be true or false' }])
  return ok({ id: id.value, streamKey: key.value, closedWithoutKey })
}

const PREFIXES = { ingests: 'in', engines: 'en', distributions: 'di' } as const
const PUSHES: readonly unknown[] = INGEST_TYPES.filter(isPush)
const KEY_RULE = 'is not 16 to 128 letters, digits, - and _; make one with: openssl rand -hex 16'

function readStreamKey(key: unknown): Result<string | undefined, ItemProblems> {
  if (key === undefined) return ok(key)
  return typeof key === 'string' && /^[\w-]{16,128}$/.test(key) ? ok(key) : err(wrongKey(KEY_RULE))
}

const wrongKey = (message: string): ItemProblems => [{ path: 'streamKey', message }]

/** Viewers' keys and ids are set at the creation. */
export function changesOf({ body, record = { id: '' } }: PartBody): ChangedSetting[] {
  const { security, ...others } = without(body, ['id', 'engines', 'closedWithoutKey'])
  const rules = isObject(security) ? without(security, ['keys']) : security
  return difference(security === undefined ? others : { ...others, security: rules }, record)
}

/** The parts in the file, each with its record. */
export async function partBodies(
  within: Provisioning,
  channelId: string,
  body: Body,
): Promise<Readonly<Record<PartList, readonly PartBody[]>>> {
  const records = await partRecords(within.ctx, within.tx, channelId)
  const ingests = named(body['ingests'], 'ingests', records.ingests)
  const enginesOf = (list: unknown, path: string, ingestId: string | undefined): PartBody[] => {
    const there = records.engines.filter((engine) => engine.ingestId === ingestId)
    return named(list, path, there).map((part) => ({ ...part, ingestId }))
  }
  const ofIngests = ingests.flatMap((ingest) =>
    enginesOf(ingest.body['engines'], `${ingest.path}.engines`, ingest.record?.id ?? ''),
  )
  return {
    ingests,
    engines: [...ofIngests, ...enginesOf(body['engines'], 'engines', undefined)],
    distributions: named(body['distributions'], 'distributions', records.distributions),
  }
}

type Parts = { readonly [list in PartList]: Pick<Tx[list], 'ofChannel'> }

/** The parts of a channel, as the API shows them, with all that a file may say of them. */
export async function partRecords(ctx: ChannelContext, store: Parts, channelId: string) {
  return {
    ingests: (await store.ingests.ofChannel(channelId)).map((ingest) => ({
      ...ingestRecord(ctx, ingest),
      // With its password.
      ...(isPush(ingest.type) ? {} : { url: sourceOf(ctx, ingest) }),
      region: ingest.region,
    })),
    engines: (await store.engines.ofChannel(channelId)).map((engine) => engineWithKeys(ctx, engine)),
    distributions: (await store.distributions.ofChannel(channelId)).map((one) => toDistributionRecord(one, [])),
  }
}

/**
 * The parts of a list in the file, each with the record of its id, or of its name if it has no id. What is no object is
 * refused by the command, as one without a name.
 */
function named(list: unknown, path: string, records: readonly (object & { id: string; name: string })[]): PartBody[] {
  const bodies: readonly unknown[] = Array.isArray(list) ? list : []
  return bodies.map((item, at) => {
    const body: Body = isObject(item) ? item : {}
    const isIt = ({ id, name }: { id: string; name: string }) =>
      body['id'] === undefined ? name === body['name'] : id === body['id']
    return { body, record: records.find(isIt), path: `${path}[${at}]` }
  })
}

const atPart = ({ path }: PartBody, problems: ItemProblems): ItemProblems =>
  problems.map((problem) => ({ ...problem, path: problem.path === '' ? path : `${path}.${problem.path}` }))
