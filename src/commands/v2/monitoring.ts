import { err, ok, type Result } from '../../base/result.ts'
import { type LiveFailure, noSuch, refusal } from '../../core/live/errors.ts'
import { readMeasuredQuery } from '../../core/live/measuredQuery.ts'
import type { ChannelMonitoring, EngineMonitoring, IngestMonitoring } from '../../core/live/monitoringSchema.ts'
import { type Ingest, type IngestType, isPush } from '../../core/live/types.ts'
import type { Node } from '../../store/store.ts'
import type { Context } from '../context.ts'
import type { Measured } from '../v2life/measured.ts'
import { type Answered, checked, isId } from './shared.ts'

const PROTOCOLS: Readonly<Record<IngestType, 'rtmp' | 'srt'>> = {
  'rtmp-push': 'rtmp',
  'rtmp-pull': 'rtmp',
  'srt-pull': 'srt',
}

/** How a channel and all of its parts are, in one answer: at most 1000 of each. */
export async function monitorChannel(ctx: Context, accountId: string, id: string): Answered<ChannelMonitoring> {
  const { read } = ctx.store
  const channel = isId(id) ? await read.channels.get(accountId, id) : undefined
  if (!channel) return err(noSuch('channel', id))
  const [ingests, engines, distributions] = await Promise.all([
    read.ingests.ofChannel(id),
    read.engines.ofChannel(id),
    read.distributions.ofChannel(id),
  ])
  return ok({
    id,
    name: channel.name,
    status: channel.status,
    ingests: ingests.map((ingest) => ({ id: ingest.id, protocol: PROTOCOLS[ingest.type] })),
    engines: engines.map(({ id: engineId, status, statusMessage: message }) => ({
      id: engineId,
      status,
      ...(message === null ? {} : { statusMessage: message }),
    })),
    distributions: distributions.map((one) => ({ id: one.id, status: one.enabled ? 'enabled' : 'disabled' })),
  })
}

type Query = Record<string, unknown>

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Whether the source of an ingest is there, and what came in; only the node that has it knows. */
export async function monitorIngest(
  ctx: Context,
  measured: Measured,
  accountId: string,
  id: string,
  query: Query,
): Answered<IngestMonitoring> {
  const nowMs = ctx.clock.now()
  const span = checked(readMeasuredQuery(query, nowMs))
  if (!span.ok) return span
  const ingest = isId(id) ? await ctx.store.read.ingests.get(accountId, id) : undefined
  if (!ingest) return err(noSuch('ingest', id))
  const { sinceMs, samples } = measured.ingest(id, span.value.fromMs, span.value.untilMs)
  const here = sinceMs === null ? await isNowhereElse(ctx, measured, ingest) : ok(true)
  if (!here.ok) return here
  const up = sinceMs === null ? {} : { started: isoOf(sinceMs), uptime: Math.floor((nowMs - sinceMs) / 1000) }
  return ok({
    id,
    status: sinceMs === null ? 'disconnected' : 'connected',
    protocol: PROTOCOLS[ingest.type],
    ...up,
    metrics: samples.map(({ atMs, bitrate, address: ip }) => ({
      time: isoOf(atMs),
      packetLoss: null,
      rtt: null,
      bitrate: { total: bitrate },
      location: { ip, region: ingest.region },
    })),
  })
}

/** What an engine makes; only the node that runs it knows. */
export async function monitorEngine(
  ctx: Context,
  measured: Measured,
  accountId: string,
  id: string,
  query: Query,
): Answered<EngineMonitoring> {
  const span = checked(readMeasuredQuery(query, ctx.clock.now()))
  if (!span.ok) return span
  const engine = isId(id) ? await ctx.store.read.engines.get(accountId, id) : undefined
  if (!engine) return err(noSuch('engine', id))
  const here = await runsNowhereElse(ctx, measured, id)
  if (!here.ok) return here
  const renditions = measured.renditions(id, span.value.fromMs, span.value.untilMs)
  return ok({
    id,
    status: engine.status,
    renditions: renditions.map(({ name, samples }) => ({
      name,
      metrics: samples.map(({ atMs, framerate, bitrate }) => ({ time: isoOf(atMs), framerate, bitrate })),
    })),
  })
}

type Here = Result<true, LiveFailure>

/** A source that is not here may be at the node that runs an engine of it, or, where none runs, an encoder at any. */
async function isNowhereElse(ctx: Context, measured: Measured, { id, channelId, type }: Ingest): Promise<Here> {
  const engines = await ctx.store.read.engines.ofChannel(channelId)
  const own = engines.filter(({ ingestId }) => ingestId === id)
  for (const engine of own) {
    const here = await runsNowhereElse(ctx, measured, engine.id)
    if (!here.ok) return here
  }
  const runsHere = own.some(({ status }) => status !== 'stopped')
  const others = isPush(type) && !runsHere ? await otherNodes(ctx, measured) : []
  if (others.length === 0) return ok(true)
  const places = others.slice(0, 8).map(nameOf).join(', ')
  return err(refusal('at_another_node', `No encoder pushes to ${id} at this node; one may at another: ${places}`))
}

async function runsNowhereElse(ctx: Context, measured: Measured, id: string): Promise<Here> {
  const life = await ctx.store.read.lives.get(id)
  const nowMs = ctx.clock.now()
  if (!life?.node || life.node === measured.node || (life.aliveUntilMs ?? 0) < nowMs) return ok(true)
  const of = life.node
  const node = (await otherNodes(ctx, measured)).find(({ place, pid }) => of.startsWith(`${place}#${pid}#`))
  const where = node ? nameOf(node) : machineOf(of)
  return err(refusal('at_another_node', `Engine ${id} runs at another node, ${where}: what it measures is told there`))
}

async function otherNodes(ctx: Context, { node }: Measured): Promise<Node[]> {
  const nowMs = ctx.clock.now()
  const all = await ctx.store.read.nodes.list()
  return all.filter(({ place, pid, aliveUntilMs }) => aliveUntilMs >= nowMs && !node.startsWith(`${place}#${pid}#`))
}

const nameOf = ({ url, place }: Node): string => url ?? `on ${machineOf(place)}`

const machineOf = (place: string): string => place.split(':')[0] ?? ''
