import { err, ok, type Result } from '../../../base/result.ts'
import { TICKET_SHARED } from '../../../core/access/refusals.ts'
import { noSuch } from '../../../core/channels/errors.ts'
import { type PlaybackRules, type PlaybackViewer, refuseGranted } from '../../../core/channels/playback.ts'
import { type Engine, isIdle } from '../../../core/channels/types.ts'
import { CHANNEL_SEGMENTS } from '../../../core/hls/channel.ts'
import { isReported } from '../hls/cacheLog.ts'
import type { ServedByCache } from '../../../commands/sessions/cacheLog.ts'
import type { Admission, DistributionViewers, LocalRendition, RenditionLocation } from '../hls/admissions.ts'
import { NOT_THERE, NOT_YET } from '../hls/sending.ts'
import { SHARED } from '../hls/sharing.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { GrantTicket } from '../media/tickets.ts'
import { countServed, type PlaybackParts, viewerOf } from './playback.ts'
import type { GrantViewer } from './grantViewers.ts'
import { asHttpRefusal } from './problem.ts'
import type { ViewerAnswer, ViewerRequest } from '../viewerRequest.ts'

/** Admits viewers of distributions: the current rules decide on each request. */
export class DistributionAdmissions implements DistributionViewers {
  readonly #parts: PlaybackParts

  constructor(parts: PlaybackParts) {
    this.#parts = parts
  }

  async admit(ticket: GrantTicket, request: ViewerRequest): Promise<Result<Admission, HttpRefusal>> {
    const rules = await this.#parts.playbacks.find(ticket.stream)
    if (rules === null) return err(asHttpRefusal(noSuch('distribution', ticket.stream)))
    const from = viewerOf(this.#parts, request)
    const refused = whyRefused(this.#parts, rules, ticket, from)
    return refused === null
      ? ok(new DistributionAdmission(this.#parts, { rules, ticket, request, from }))
      : err(refused)
  }

  peek(ticket: GrantTicket, request: ViewerRequest): Admission | null {
    const rules = this.#parts.playbacks.peek(ticket.stream)
    if (!rules) return null
    const from = viewerOf(this.#parts, request)
    return whyRefused(this.#parts, rules, ticket, from) === null
      ? new DistributionAdmission(this.#parts, { rules, ticket, request, from })
      : null
  }

  async servedByCache({ stream, grant }: GrantTicket, bytesOut: number): Promise<ServedByCache | null> {
    const rules = await this.#parts.playbacks.find(stream)
    if (rules === null) return null
    const { id: distributionId, channelId, accountId } = rules.distribution
    return { accountId, channelId, distributionId, trackingId: grant.trackingId ?? '', bytesOut }
  }

  async forNode(stream: string, rendition: string): Promise<LocalRendition | undefined> {
    const rules = await this.#parts.playbacks.find(stream)
    if (rules === null) return undefined
    callForSlate(this.#parts, rules, rendition)
    return renditionOf(this.#parts, rules, rendition)
  }
}

function whyRefused(
  parts: PlaybackParts,
  rules: PlaybackRules,
  { grant, viewerId }: GrantTicket,
  from: PlaybackViewer,
): HttpRefusal | null {
  if (!rules.isOpen && parts.viewers.isEnded(viewerId)) return SHARED
  const refused = refuseGranted(rules, grant, from)
  return refused === null ? null : asHttpRefusal(refused)
}

/** The name of an engine's rendition in the addresses of a distribution. */
export const nameInDistribution = (engineId: string, rendition: string): string => `${engineId}-${rendition}`

/** Says that a viewer wants to see an engine, so that it shows the slate of the channel while it has no source. */
function callForSlate({ viewed }: PlaybackParts, rules: PlaybackRules, rendition: string): void {
  const engine = engineOf(rules, rendition)
  if (engine !== undefined) viewed(engine.id, rules.slateId)
}

/** The engine that `nameInDistribution` names. Undefined: it is none of this distribution. */
const engineOf = ({ engines }: PlaybackRules, rendition: string): Engine | undefined =>
  engines.find(({ id }) => rendition.startsWith(`${id}-`))

/** Undefined: this node does not run the engine, or it is none of this distribution. */
function renditionOf(parts: PlaybackParts, rules: PlaybackRules, rendition: string): LocalRendition | undefined {
  const engine = engineOf(rules, rendition)
  const stream = engine && parts.streamOf(engine.id)
  const name = rendition.slice((engine?.id.length ?? 0) + 1)
  if (engine === undefined || !stream?.has(name)) return undefined
  const { llHls: withParts, hlsLatencySeconds: holdBackSeconds } = rules.distribution
  const playlist = { window: CHANNEL_SEGMENTS, parts: withParts, holdBackSeconds }
  return {
    stream,
    name,
    playlist,
    isGone() {
      // It was closed during a wait. The next request learns whether the engine was stopped, or only the server stops.
      if (parts.streamOf(engine.id) !== stream) return false
      return !stream.makes(name) || (!stream.isLive && isReplaced(rules, engine))
    },
  }
}

/**
 * True when this engine has stopped and another one plays. The last playlist of a stopped engine does not continue. A
 * player that gets a refusal moves to the next redundant stream; a player that could still read the old playlist would
 * stall.
 */
const isReplaced = ({ engines }: PlaybackRules, { status }: Engine): boolean =>
  status !== 'playing' && engines.some((other) => other.status === 'playing')

/** Between two servers, an engine is at no node for a moment. One that a user stops does not come back by itself. */
const willPlay = ({ status }: Engine): boolean => status !== 'stopping' && !isIdle(status)

interface Admitted {
  readonly rules: PlaybackRules
  readonly ticket: GrantTicket
  readonly request: ViewerRequest
  readonly from: PlaybackViewer
}

class DistributionAdmission implements Admission {
  readonly viewer: GrantViewer
  readonly #parts: PlaybackParts
  readonly #admitted: Admitted

  constructor(parts: PlaybackParts, admitted: Admitted) {
    this.viewer = parts.viewers.of(admitted.ticket.viewerId)
    this.#parts = parts
    this.#admitted = admitted
  }

  /** Any client gets tickets for an open distribution. */
  get refusesSharing(): boolean {
    return !this.#admitted.rules.isOpen && this.#parts.refuseShared()
  }

  /** An engine that moves begins with other pieces, and its earlier ones end with it. */
  readonly leftNode = null

  get mayRepeat(): boolean {
    return this.#admitted.rules.engines.length === 1
  }

  attend(): void {
    // An answer that has begun is sent to its end: a segment lasts two seconds.
  }

  sends(response: ViewerAnswer, length: number, playsMs: number): void {
    const { rules, ticket, request, from } = this.#admitted
    if (isReported(this.#parts, request)) return
    countServed(this.#parts, response, { rules, grant: ticket.grant, country: from.country, length, playsMs })
  }

  here(rendition: string): LocalRendition | undefined {
    return renditionOf(this.#parts, this.#admitted.rules, rendition)
  }

  isRemote(rendition: string): boolean {
    return this.#nodeOf(rendition) !== undefined
  }

  async locate(rendition: string): Promise<Result<RenditionLocation, HttpRefusal>> {
    const { rules } = this.#admitted
    callForSlate(this.#parts, rules, rendition)
    const found = this.here(rendition)
    if (found !== undefined) return ok({ rendition: found })
    const nodeUrl = this.#nodeOf(rendition)
    if (nodeUrl !== undefined) return ok({ nodeUrl })
    const engine = engineOf(rules, rendition)
    const begins = engine !== undefined && willPlay(engine) && this.#parts.streamOf(engine.id) === undefined
    return err(begins ? NOT_YET : NOT_THERE)
  }

  /** Engines keep their names. */
  async locateNext(): Promise<Result<never, HttpRefusal>> {
    return err(NOT_THERE)
  }

  /** The URL of the node that runs the engine of this rendition. */
  #nodeOf(rendition: string): string | undefined {
    const { rules } = this.#admitted
    const engine = engineOf(rules, rendition)
    return engine && rules.nodes.get(engine.id)
  }

  async recheck(): Promise<HttpRefusal | null> {
    const { ticket, request } = this.#admitted
    const rules = await this.#parts.playbacks.find(ticket.stream)
    if (rules === null) return asHttpRefusal(noSuch('distribution', ticket.stream))
    return whyRefused(this.#parts, rules, ticket, viewerOf(this.#parts, request))
  }

  endShared(): void {
    const { viewerId, stream: distribution, grant } = this.#admitted.ticket
    this.#parts.viewers.end(viewerId)
    const { trackingId } = grant
    this.#parts.ctx.sessions.counts.refused.add(TICKET_SHARED.code)
    this.#parts.ctx.log.info({ distribution, trackingId }, 'several players used the ticket of one viewer: refused')
  }
}
