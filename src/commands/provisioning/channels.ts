import { isObject } from '../../base/objects.ts'
import { err, ok } from '../../base/result.ts'
import { readCreateChannel, toChannelRecord } from '../../core/channels/channel.ts'
import { CHILDREN_IN_CREATE } from '../../core/channels/channelSchema.ts'
import { OWN_OF_CHANNELS, without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import type { ChangedSetting } from '../../core/provisioning/types.ts'
import { checked } from '../channels/channelCommand.ts'
import { createChannel, deleteChannel, updateChannel } from '../channels/channels.ts'
import { applyParts, changesOf, PART_LISTS, type PartBody, partBodies, partRecords } from './channelPartBodies.ts'
import { type ChannelPart, forgetParts, settleParts } from './channelParts.ts'
import { chosenId, deleted, patchOf, type Provisioning, type ProvisionedKind, withProblems } from './kind.ts'

/** Channels. Their parts have names, too. */
export const provisionedChannels: ProvisionedKind = {
  async compare(within, id, { body }) {
    const { tx, actor } = within
    const stored = await tx.channels.lock(actor.accountId, id)
    if (stored === undefined) return null
    const { ingests, engines, distributions } = body
    const parts = await partBodies(within, id, body)
    const isChanged = (part: PartBody) => part.record === undefined || changesOf(part).length > 0
    const changed = (name: (typeof PART_LISTS)[number], all: readonly PartBody[], to: unknown): ChangedSetting[] =>
      all.some(isChanged) ? [{ setting: name, from: null, to }] : []
    return [
      ...difference(without(body, ['id', ...PART_LISTS]), toChannelRecord(stored)),
      ...changed(
        'ingests',
        [...parts.ingests, ...parts.engines.filter(({ ingestId }) => ingestId !== undefined)],
        ingests,
      ),
      ...changed(
        'engines',
        parts.engines.filter(({ ingestId }) => ingestId === undefined),
        engines,
      ),
      ...changed('distributions', parts.distributions, distributions),
    ]
  },
  /** The whole body is read first, so that all of its problems are reported at once. */
  async create(within, { body }) {
    const { ctx, actor } = within
    const whole = checked(readCreateChannel(forCreate(without(body, ['engines'])), ctx.channelSettings))
    if (!whole.ok) return withProblems(whole)
    const id = chosenId('ch', body['id'])
    if (!id.ok) return id
    const taken = id.value === undefined ? undefined : await within.tx.channels.get(actor.accountId, id.value)
    if (taken !== undefined)
      return err([{ path: 'id', message: `the channel "${taken.name}" with this id exists already` }])
    const made = await createChannel(ctx, actor, without(body, ['id', ...PART_LISTS]), id.value)
    if (!made.ok) return withProblems(made)
    const parts = await applyParts(within, made.value.id, body, { isNew: true })
    return parts.ok ? ok(made.value.id) : parts
  },
  async update(within, id, { body }, changed) {
    const { ctx, actor } = within
    const own = changed.filter(({ setting }) => !(PART_LISTS as readonly string[]).includes(setting))
    if (own.length > 0) {
      const done = await updateChannel(ctx, actor, id, patchOf(own))
      if (!done.ok) return withProblems(done)
    }
    return applyParts(within, id, body, { isNew: false })
  },
  async delete({ ctx, actor }, id) {
    return deleted(await deleteChannel(ctx, actor, id))
  },
  async settleParts(within, channelId, { body }) {
    const { ingests, engines, distributions } = await partBodies(within, channelId, body)
    const named = [...ingests, ...engines, ...distributions].flatMap(({ record }) => record?.id ?? [])
    return settleParts(within, { channelId, all: await allParts(within, channelId), named: new Set(named) })
  },
  forgetParts,
}

async function allParts(within: Provisioning, channelId: string): Promise<ChannelPart[]> {
  const { ingests, engines, distributions } = await partRecords(within.ctx, within.tx, channelId)
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

/** What the create of the API would take of the file, to check it: ends of long lists are checked with their parts. */
function forCreate(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, CHILDREN_IN_CREATE).map(forCreate)
  if (!isObject(value)) return value
  const entries = Object.entries(without(value, [...OWN_OF_CHANNELS, 'endpoints']))
  return Object.fromEntries(entries.map(([name, own]) => [name, forCreate(own)]))
}
