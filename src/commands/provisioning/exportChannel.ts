import { toChannelRecord } from '../../core/channels/channel.ts'
import { CreateChannel } from '../../core/channels/channelSchema.ts'
import { CreateDistribution } from '../../core/channels/distributionSchema.ts'
import { CreateEngine, CreateEngineOfIngest } from '../../core/channels/engineSchema.ts'
import { CreateIngest } from '../../core/channels/ingestSchema.ts'
import { isPush, type Channel } from '../../core/channels/types.ts'
import { settingsOf, without } from '../../core/provisioning/carried.ts'
import type { Context } from '../context.ts'
import { openKey } from '../channels/distributionKey.ts'
import { partRecords } from './channelPartBodies.ts'

type Settings = Readonly<Record<string, unknown>>
type Records = Awaited<ReturnType<typeof partRecords>>

/** A channel with its parts, as a provisioning file has it. Their ids stay: players, viewers' tokens and schedulers name them. */
export async function exportChannel(ctx: Context, channel: Channel) {
  const records = await partRecords(ctx, ctx.store.read, channel.id)
  const enginesOf = (ingestId: string | undefined) => records.engines.filter((one) => one.ingestId === ingestId)
  const loose = enginesOf(undefined).map((engine) => ({ id: engine.id, ...read(CreateEngine, engine) }))
  const distributions: Settings[] = []
  for (const one of records.distributions) distributions.push(await distributionSettings(ctx, one))
  const settings = {
    id: channel.id,
    // `externalId` is the deprecated spelling of the first of them.
    ...without(read(CreateChannel, toChannelRecord(channel)), ['externalId']),
    ingests: records.ingests.map((ingest) => ({
      ...ingestSettings(ingest),
      engines: enginesOf(ingest.id).map((engine) => ({ id: engine.id, ...read(CreateEngineOfIngest, engine) })),
    })),
    ...(loose.length === 0 ? {} : { engines: loose }),
    distributions,
  }
  return { id: channel.id, label: channel.name, settings }
}

const read = (schema: Parameters<typeof settingsOf>[0], record: object): Settings =>
  settingsOf(schema, record) as Settings

function ingestSettings(ingest: Records['ingests'][number]): Settings {
  const settings = { id: ingest.id, ...read(CreateIngest, ingest) }
  // The address of a push is that of the installation.
  return isPush(ingest.type) ? { ...without(settings, ['url']), streamKey: ingest.streamKey } : settings
}

async function distributionSettings(ctx: Context, distribution: Records['distributions'][number]): Promise<Settings> {
  const keys = await ctx.store.read.distributionKeys.list(distribution.id)
  const settings = read(CreateDistribution, distribution)
  return {
    id: distribution.id,
    ...settings,
    security: {
      ...(settings['security'] as object),
      keys: keys.map((key) => ({ key: openKey(ctx, key), ...(key.name === null ? {} : { name: key.name }) })),
    },
    // The record was made without its keys.
    ...(distribution.security.tokenRequired ? { closedWithoutKey: true } : {}),
  }
}
