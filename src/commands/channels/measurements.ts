import { rounded } from '../../base/numbers.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { isoTime, type TimeSpan } from '../../base/time.ts'
import { type ChannelFailure, noSuch, refusal } from '../../core/channels/errors.ts'
import { readPageQuery } from '../../core/channels/listQuery.ts'
import { measuredReaders, measuredSpan, readMeasuredQuery } from '../../core/channels/measuredQuery.ts'
import type { EnginePace } from '../../core/channels/runs/load.ts'
import type { EngineMonitoring, IngestMonitoring } from '../../core/channels/monitoringSchema.ts'
import { targetOnAir } from '../../core/streams/streamOnAir.ts'
import { type Engine, type Ingest, INGEST_FACTS, isPush } from '../../core/channels/types.ts'
import type { Newest } from '../../store/store.ts'
import type { ChannelContext, CommandContext } from '../context.ts'
import { type KeysetPage, newestAfter } from '../pages.ts'
import type { EncodingLoad } from '../../services/encodingLoad.ts'
import type { Measured } from '../../services/measured.ts'
import { nameOf, nodeNameOf, otherNodes, remoteEngine } from './remoteEngine.ts'
import { type ChannelResult, checked, isId, channelPage } from './channelCommand.ts'

// Only the node with the publisher or the engine has these measurements. Every other node refuses, and names that node.

type Query = Record<string, unknown>

/** The account that reads, and this node's measurements. */
export interface Asking {
  readonly ctx: ChannelContext
  readonly measured: Measured
  /** Null: this process runs no engines. */
  readonly load: Pick<EncodingLoad, 'paceOf'> | null
  readonly accountId: string
}

/** Whether the source of an ingest is connected, and the received bit rate. */
export const monitorIngest = (asking: Asking, id: string, query: Query) =>
  monitorOne(asking, { kind: 'ingest', id, query }, ofIngest, () =>
    asking.ctx.store.read.ingests.get(asking.accountId, id),
  )

/** The output of an engine. */
export const monitorEngine = (asking: Asking, id: string, query: Query) =>
  monitorOne(asking, { kind: 'engine', id, query }, ofEngine, () =>
    asking.ctx.store.read.engines.get(asking.accountId, id),
  )

async function monitorOne<P, M>(
  asking: Asking,
  { kind, id, query }: { kind: 'ingest' | 'engine'; id: string; query: Query },
  of: (asking: Asking, part: P, span: TimeSpan) => ChannelResult<M>,
  read: () => Promise<P | undefined>,
): ChannelResult<M> {
  const span = checked(readMeasuredQuery(query, asking.ctx.clock.now()))
  if (!span.ok) return span
  const part = isId(id) ? await read() : undefined
  return part ? of(asking, part, span.value) : err(noSuch(kind, id))
}

/** One page of `monitorIngest` for all ingests of a channel, newest first. */
export const monitorIngests = (asking: Asking, channelId: string, query: Query) =>
  monitorAll(asking, { list: 'monitored_ingests', channelId, query }, ofIngest, (selection) =>
    asking.ctx.store.read.ingests.page(selection),
  )

/** One page of `monitorEngine` for all engines of a channel, newest first. */
export const monitorEngines = (asking: Asking, channelId: string, query: Query) =>
  monitorAll(asking, { list: 'monitored_engines', channelId, query }, ofEngine, (selection) =>
    asking.ctx.store.read.engines.page(selection),
  )

async function monitorAll<P extends { id: string; createdAtMs: number }, M>(
  asking: Asking,
  { list, channelId, query }: { list: string; channelId: string; query: Query },
  of: (asking: Asking, part: P, span: TimeSpan) => ChannelResult<M>,
  read: (selection: Newest & { channelId: string }) => Promise<P[]>,
): ChannelResult<KeysetPage<M>> {
  const { ctx, accountId } = asking
  const asked = readPageQuery<{ start: number; end: number }>(query, measuredReaders)
  if (!asked.ok) return asked
  const { limit, cursor, filters } = asked.value
  const span = checked(measuredSpan(filters, ctx.clock.now()))
  if (!span.ok) return span
  const channel = isId(channelId) ? await ctx.store.read.channels.get(accountId, channelId) : undefined
  if (!channel) return err(noSuch('channel', channelId))
  const page = await channelPage(ctx, {
    scope: { list, filters: { channelId, ...filters } },
    limit,
    cursor,
    keyOf: (part: P) => [part.createdAtMs, part.id],
    read: (position, count) => read({ channelId, limit: count, ...newestAfter(position) }),
  })
  if (!page.ok) return page
  const data: M[] = []
  for (const part of page.value.data) {
    const measured = await of(asking, part, span.value)
    if (!measured.ok) return measured
    data.push(measured.value)
  }
  return ok({ ...page.value, data })
}

async function ofIngest({ ctx, measured }: Asking, ingest: Ingest, span: TimeSpan): ChannelResult<IngestMonitoring> {
  const { id, type, region } = ingest
  const nowMs = ctx.clock.now()
  const { sinceMs, samples } = measured.ingest(id, span.fromMs, span.untilMs)
  const here = sinceMs === null ? await isNowhereElse(ctx, measured, ingest) : ok(true)
  if (!here.ok) return here
  const note = sinceMs !== null && !(await isUsed(ctx, ingest)) ? UNUSED : null
  const up = sinceMs === null ? {} : { started: isoTime(sinceMs), uptime: Math.floor((nowMs - sinceMs) / 1000) }
  return ok({
    id,
    status: sinceMs === null ? 'disconnected' : 'connected',
    protocol: INGEST_FACTS[type].protocol,
    ...up,
    ...(note === null ? {} : { note }),
    metrics: samples.map(({ atMs, bitrate, packetLoss, roundTripMs, address: ip }) => ({
      time: isoTime(atMs),
      packetLoss,
      rtt: roundTripMs,
      bitrate: { total: bitrate },
      location: { ip, region },
    })),
  })
}

const UNUSED = 'No engine that uses this ingest runs: what the publisher sends is thrown away until one is started'

/** Whether a running engine takes its media from this ingest. */
export async function isUsed({ store }: Pick<CommandContext, 'store'>, { id, channelId }: Ingest): Promise<boolean> {
  const engines = await store.read.engines.ofChannel(channelId)
  return engines.some(({ ingestId, status }) => ingestId === id && status !== 'stopped' && status !== 'stopping')
}

async function ofEngine(
  { ctx, measured, load }: Asking,
  { id, status, restream }: Engine,
  span: TimeSpan,
): ChannelResult<EngineMonitoring> {
  const here = await runsNowhereElse(ctx, measured, id)
  if (!here.ok) return here
  const renditions = measured.renditions(id, span.fromMs, span.untilMs)
  const pace = load?.paceOf(id) ?? null
  return ok({
    id,
    status,
    ...(pace === null ? {} : { encoder: encoderOf(pace) }),
    renditions: renditions.map(({ name, samples }) => ({
      name,
      metrics: samples.map(({ atMs, framerate, bitrate }) => ({ time: isoTime(atMs), framerate, bitrate })),
    })),
    restreams: measured
      .targetsOf(id)
      .map((reading) => ({ id: restream[reading.index]?.id ?? '', ...targetOnAir(reading, null) })),
  })
}

const encoderOf = ({ speed, lagMs, droppedFrames, cores, isOverloaded, leftOut }: EnginePace) => ({
  speed: rounded(speed, 100),
  lagSeconds: rounded(lagMs / 1000, 100),
  droppedFrames,
  cores: rounded(cores, 100),
  overloaded: isOverloaded,
  leftOut: [...leftOut],
})

type Here = Result<true, ChannelFailure>

/**
 * Refuses if the source may be at another node: the node of one of its engines or, if none runs, any node that a
 * publisher pushes to.
 */
async function isNowhereElse(ctx: ChannelContext, measured: Measured, { id, channelId, type }: Ingest): Promise<Here> {
  const engines = await ctx.store.read.engines.ofChannel(channelId)
  const own = engines.filter(({ ingestId }) => ingestId === id)
  for (const engine of own) {
    const here = await runsNowhereElse(ctx, measured, engine.id)
    if (!here.ok) return here
  }
  const runsHere = own.some(({ status }) => status !== 'stopped')
  const others = isPush(type) && !runsHere ? await otherNodes(ctx, measured.node) : []
  if (others.length === 0) return ok(true)
  const nodes = others.slice(0, 8).map(nameOf).join(', ')
  return err(refusal('at_another_node', `No publisher pushes to ${id} at this node; one may at another: ${nodes}`))
}

async function runsNowhereElse(ctx: ChannelContext, measured: Measured, id: string): Promise<Here> {
  const remote = await remoteEngine(ctx, measured.node, id)
  if (remote === null) return ok(true)
  const where = nodeNameOf(remote)
  return err(refusal('at_another_node', `Engine ${id} runs at another node, ${where}: what it measures is told there`))
}
