import { err, ok, type Result } from '../../../base/result.ts'
import { type ChannelFailure, refusal } from '../../../core/channels/errors.ts'
import type { PlaybackRules } from '../../../core/channels/playback.ts'
import type { Engine } from '../../../core/channels/types.ts'
import { hlsMaster, joinMasters } from '../../../core/hls/master.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import type { ChannelStream } from '../../../media/hls/channelStream.ts'
import { START_MAX_MS } from '../hls/sending.ts'
import { nameInDistribution } from './distributionAdmissions.ts'
import type { PlaybackParts } from './playback.ts'

export const NOT_LIVE = refusal('not_found', 'Nothing is playing now')
const NOTHING_FITS = refusal('not_found', 'Every rendition is above the maxBitrate of this distribution')

/** Players with parts begin with one segment; others stay three behind the end. */
const FIRST_SEGMENTS = { withParts: 1, plain: 3 }

/** A master playlist, but for the ticket in it. */
interface Master {
  with(ticket: string): string
}

/** Stands for the ticket. No ticket or name has this character. */
const TICKET = '\u0000'

/** The renditions of all playing engines at all nodes, those of the preferred engine first. Waits for one that begins. */
export async function distributionMaster(
  parts: PlaybackParts,
  rules: PlaybackRules,
): Promise<Result<Master, ChannelFailure>> {
  const [own, ...others] = await Promise.all([masterHere(parts, rules), ...remoteMasters(parts, rules)])
  const found = [own, ...others].flatMap((one) => (one.ok ? [one.value] : []))
  if (found.length === 0) return own.ok ? err(NOT_LIVE) : own
  const rankOf = (uri: string): number => rules.engines.findIndex(({ id }) => uri.includes(`/${id}-`))
  const text = joinMasters(found, rankOf)
  return ok({ with: (ticket) => text.replaceAll(TICKET, ticket) })
}

/** The same for the engines of this node alone, for another node. */
export async function masterForNode(
  parts: PlaybackParts,
  rules: PlaybackRules,
): Promise<Result<Master, ChannelFailure>> {
  const text = await masterHere(parts, rules)
  return text.ok ? ok({ with: (ticket) => text.value.replaceAll(TICKET, ticket) }) : text
}

async function masterHere(parts: PlaybackParts, rules: PlaybackRules): Promise<Result<string, ChannelFailure>> {
  await untilPlayable(parts, rules)
  const { id, maxBitrate } = rules.distribution
  const shown = shownBy(parts, rules)
  const playing = shown.flatMap(([engine, stream]) =>
    stream.variants().map((variant) => ({ ...variant, rendition: nameInDistribution(engine.id, variant.rendition) })),
  )
  if (playing.length === 0) return err(NOT_LIVE)
  const variants = playing.filter(({ bandwidth }) => bandwidth <= (maxBitrate ?? Number.POSITIVE_INFINITY))
  if (variants.length === 0) return err(NOTHING_FITS)
  const audio = shown.flatMap(([engine, stream]) =>
    stream.audioTracks().map((track) => ({
      ...track,
      rendition: track.rendition && nameInDistribution(engine.id, track.rendition),
    })),
  )
  // Relative to the address of the master playlist, so that a proxy may have a prefix of its own.
  return ok(hlsMaster(variants, (rendition) => `../../../../hls/~${TICKET}/${id}/${rendition}/media.m3u8`, audio))
}

/** The streams of playing engines; if none plays at any node, those that show the slate. */
function shownBy(parts: PlaybackParts, rules: PlaybackRules): [Engine, ChannelStream][] {
  const streams = streamsFor(parts, rules)
  const playing = streams.filter(isShown)
  if (playing.length > 0 || playsRemotely(rules)) return playing
  return streams.filter(([, stream]) => stream.showsSlate)
}

const playsRemotely = ({ engines, nodes }: PlaybackRules): boolean =>
  engines.some(({ id, status }) => status === 'playing' && nodes.has(id))

/** Asks the nodes whose engines play or, if no engine plays anywhere, those whose engines begin or may show a slate. */
function remoteMasters(parts: PlaybackParts, rules: PlaybackRules): Promise<Result<string, ChannelFailure>>[] {
  const { engines, nodes, slateId } = rules
  const plays = engines.some(({ status }) => status === 'playing')
  const isAsked = ({ status }: Engine): boolean =>
    plays ? status === 'playing' : status === 'ingesting' || slateId !== null
  const asked = engines.filter(isAsked)
  const urls = new Set(asked.flatMap(({ id }) => nodes.get(id) ?? []))
  return [...urls].map((url) => masterOf(parts, rules, url))
}

async function masterOf(
  { remote, tickets }: PlaybackParts,
  { distribution: { id } }: PlaybackRules,
  nodeUrl: string,
): Promise<Result<string, ChannelFailure>> {
  const url = atNode(nodeUrl, `/v2/distributions/${id}/hls/main.m3u8`)
  const answer = await remote.get(url, `${url}?node=${tickets.forNode(nodeUrl, { stream: id, name: 'main.m3u8' })}`)
  if (answer?.status !== 200) return err(NOT_LIVE)
  return ok(answer.body.toString().replaceAll(/\/hls\/~[\w.-]+\//g, `/hls/~${TICKET}/`))
}

/** The streams of this node's engines that play or are about to, the preferred engine first. */
function streamsFor({ streamOf }: PlaybackParts, { engines }: PlaybackRules): [Engine, ChannelStream][] {
  return engines.flatMap((engine) => {
    const stream = streamOf(engine.id)
    return stream === undefined ? [] : [[engine, stream]]
  })
}

const isShown = ([{ status }, stream]: [Engine, ChannelStream]): boolean =>
  stream.isLive || (status === 'playing' && stream.lists(1))

/** A source is there, or its publisher is away for a moment. */
const isExpected = ([{ status }, stream]: [Engine, ChannelStream]): boolean => status === 'ingesting' || stream.lists(1)

/** Waits a while for an engine that begins. */
async function untilPlayable(parts: PlaybackParts, rules: PlaybackRules): Promise<void> {
  const streams = streamsFor(parts, rules)
  const segments = rules.distribution.llHls ? FIRST_SEGMENTS.withParts : FIRST_SEGMENTS.plain
  if (streams.some((one) => isShown(one) && one[1].lists(segments))) return
  if (playsRemotely(rules)) return
  for (const { id } of rules.engines) parts.viewed(id, rules.slateId)
  const expected = streams.some(isExpected) || rules.slateId === null ? streams.filter(isExpected) : streams
  const waits = expected.map(([, stream]) => stream.ready(segments, START_MAX_MS))
  if (waits.length > 0) await Promise.race(waits)
}
