import { err, ok, type Result } from '../../base/result.ts'
import { toChannelRecord } from '../../core/channels/channel.ts'
import { toDistributionRecord } from '../../core/channels/distribution.ts'
import { toEngineRecord } from '../../core/channels/engine.ts'
import type { ChannelFailure } from '../../core/channels/errors.ts'
import { difference } from '../../core/provisioning/difference.ts'
import type { ChangedSetting } from '../../core/provisioning/types.ts'
import type { ChannelResult } from '../channels/channelCommand.ts'
import { createChannel, deleteChannel, updateChannel } from '../channels/channels.ts'
import { createDistribution, updateDistribution } from '../channels/distributions.ts'
import { createEngineOfIngest, updateEngine } from '../channels/engines.ts'
import { createIngest, ingestRecord, updateIngest } from '../channels/ingests.ts'
import { type ChannelPart, forgetParts, settleParts } from './channelParts.ts'
import { channelProblems, isGone, type ItemProblems, type Provisioning, type ProvisionedKind } from './kind.ts'

type Body = Readonly<Record<string, unknown>>

/** A part of a channel in the file, and the record of that name if there is one. */
interface Part {
  readonly body: Body
  readonly record: (object & { readonly id: string }) | undefined
  readonly path: string
}

/** Channels. Their parts have names, too. */
export const provisionedChannels: ProvisionedKind = {
  async compare(within, id, { body }) {
    const { tx, actor } = within
    const stored = await tx.channels.lock(actor.accountId, id)
    if (stored === undefined) return null
    const { ingests, distributions, ...own } = body
    const parts = await partsOf(within, id, body)
    const isChanged = (part: Part) => part.record === undefined || settingsOf(part).length > 0
    const changed = (name: 'ingests' | 'distributions', all: readonly Part[], to: unknown): ChangedSetting[] =>
      all.some(isChanged) ? [{ setting: name, from: null, to }] : []
    return [
      ...difference(own, toChannelRecord(stored)),
      ...changed('ingests', [...parts.ingests, ...parts.engines], ingests),
      ...changed('distributions', parts.distributions, distributions),
    ]
  },
  async create({ ctx, actor }, { body }) {
    const made = await createChannel(ctx, actor, body)
    return made.ok ? ok(made.value.id) : err(channelProblems(made.error))
  },
  async update(within, id, { body }, changed) {
    const { ctx, actor } = within
    const own = changed.filter(({ setting }) => setting !== 'ingests' && setting !== 'distributions')
    if (own.length > 0) {
      const settings = Object.fromEntries(own.map(({ setting, to }) => [setting, to]))
      const done = await updateChannel(ctx, actor, id, settings)
      if (!done.ok) return err(channelProblems(done.error))
    }
    return updateParts(within, id, body)
  },
  async delete({ ctx, actor }, id) {
    const done = await deleteChannel(ctx, actor, id)
    return done.ok || isGone(done.error) ? ok(true) : err(channelProblems(done.error))
  },
  async settleParts(within, channelId, { body }) {
    const { ingests, engines, distributions } = await partsOf(within, channelId, body)
    const named = [...ingests, ...engines, ...distributions].flatMap(({ record }) => record?.id ?? [])
    return settleParts(within, { channelId, all: await allParts(within, channelId), named: new Set(named) })
  },
  forgetParts,
}

async function allParts(within: Provisioning, channelId: string): Promise<ChannelPart[]> {
  const { ingests, engines, distributions } = await recordsOf(within, channelId)
  const ingestOf = (ingestId: string | undefined) => ingests.find(({ id }) => id === ingestId)
  const engineParts = engines.map(({ id, name, ingestId }): ChannelPart => {
    const ingest = ingestOf(ingestId)
    return { kind: 'engine', id, path: `${ingest === undefined ? '' : `ingests.${ingest.name}.`}engines.${name}` }
  })
  return [
    ...distributions.map(({ id, name }): ChannelPart => ({ kind: 'distribution', id, path: `distributions.${name}` })),
    ...engineParts,
    ...ingests.map(({ id, name }): ChannelPart => ({ kind: 'ingest', id, path: `ingests.${name}` })),
  ]
}

/** Ingests first: their engines may be new as well, and so on. */
async function updateParts(within: Provisioning, id: string, body: Body): Promise<Result<unknown, ItemProblems>> {
  const { ctx, actor } = within
  const make = {
    ingests: (part: Body) => createIngest(ctx, actor, id, part),
    engines: (part: Body, ingestId: string) => createEngineOfIngest(ctx, actor, ingestId, part),
    distributions: (part: Body) => createDistribution(ctx, actor, id, part),
  }
  const change = {
    ingests: (part: string, patch: object) => updateIngest(ctx, actor, part, patch),
    engines: (part: string, patch: object) => updateEngine(ctx, actor, part, patch),
    distributions: (part: string, patch: object) => updateDistribution(ctx, actor, part, patch),
  }
  for (const kind of ['ingests', 'engines', 'distributions'] as const) {
    const parts = (await partsOf(within, id, body))[kind]
    for (const part of parts) {
      const done = await applyPart(part, (made) => make[kind](made, part.ingestId ?? ''), change[kind])
      if (!done.ok) return err(atPart(part, done.error))
    }
  }
  return ok(true)
}

async function applyPart(
  part: Part,
  make: (body: Body) => ChannelResult<unknown>,
  change: (id: string, patch: object) => ChannelResult<unknown>,
): Promise<Result<unknown, ChannelFailure>> {
  const { engines: _engines, ...settings } = part.body
  if (part.record === undefined) return make(settings)
  const changed = settingsOf(part)
  if (changed.length === 0) return ok(true)
  return change(part.record.id, Object.fromEntries(changed.map(({ setting, to }) => [setting, to])))
}

/** Keys of viewers are set at the creation: the records do not have their values. */
function settingsOf({ body, record = { id: '' } }: Part): ChangedSetting[] {
  const { engines: _engines, keys: _keys, ...settings } = body
  return difference(settings, record)
}

async function recordsOf({ ctx, tx }: Provisioning, channelId: string) {
  return {
    ingests: (await tx.ingests.ofChannel(channelId)).map((ingest) => ingestRecord(ctx, ingest)),
    engines: (await tx.engines.ofChannel(channelId)).map(toEngineRecord),
    distributions: (await tx.distributions.ofChannel(channelId)).map((one) => toDistributionRecord(one, [])),
  }
}

async function partsOf(within: Provisioning, channelId: string, body: Body) {
  const records = await recordsOf(within, channelId)
  const ingests = named(body['ingests'], 'ingests', records.ingests)
  const engines = ingests.flatMap(({ body: ingest, record, path }) => {
    const own = records.engines.filter(({ ingestId }) => ingestId === record?.id)
    return named(ingest['engines'], `${path}.engines`, own).map((part) => ({ ...part, ingestId: record?.id }))
  })
  return { ingests, engines, distributions: named(body['distributions'], 'distributions', records.distributions) } as {
    [kind in 'ingests' | 'engines' | 'distributions']: (Part & { readonly ingestId?: string })[]
  }
}

/** The parts of a list in the file, each with the record of its name. What is no list of objects fails at the command. */
function named(list: unknown, path: string, records: readonly (object & { id: string; name: string })[]): Part[] {
  const bodies = Array.isArray(list) ? (list as Body[]) : []
  return bodies.map((body, at) => ({
    body,
    record: records.find(({ name }) => name === body['name']),
    path: `${path}[${at}]`,
  }))
}

const atPart = ({ path }: Part, failure: ChannelFailure): ItemProblems =>
  channelProblems(failure).map((problem) => ({
    ...problem,
    path: problem.path === '' ? path : `${path}.${problem.path}`,
  }))
