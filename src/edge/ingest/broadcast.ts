import type { Context } from '../../commands/context.ts'
import { type AccessAttempt, recordInvalidMedia, recordParameter } from '../../commands/access/authorize.ts'
import { admitPublisher, noteUnknownParameters, type PublisherAdmission } from '../../commands/sessions/admit.ts'
import { closeSession } from '../../commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../commands/sessions/count.ts'
import { goLive } from '../../commands/sessions/goLive.ts'
import { type Address, parseAddress } from '../../core/access/address.ts'
import type { Protocol } from '../../core/access/protocols.ts'
import { coded, type NoticeCode, type Said, say } from '../../core/notices.ts'
import { MediaPace } from '../../core/sessions/mediaPace.ts'
import type { PublishingParameters, UtcTime } from '../../core/sessions/publishing.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { ActiveFeed } from '../../media/feedsOnAir.ts'
import type { FrameSink, FrameSource } from '../../media/frame.ts'
import type { SourceMeter } from '../../media/measure/sourceMeter.ts'
import type {
  PublishAnswer,
  PublishEnd,
  PublisherConnection,
  PublishRefusal,
  PublishSink,
} from '../../media/publishing.ts'
import type { PublisherMedia, Simulcast } from '../../media/simulcast.ts'
import type { Session } from '../../core/sessions/types.ts'
import { type LayerAddress, mediaOf } from './layer.ts'

export interface IngestParts {
  readonly ctx: Context
  /** Makes the hub that distributes the media of a publication, and writes times into its pictures. */
  readonly makeHub: (utcTime: UtcTime) => FrameSink & FrameSource
  /** Makes what measures the media of a publication. */
  readonly makeMeter: () => SourceMeter
  /** Passes a feed on the air to the media engine for its viewers. It ends with its media, or when the result is called. */
  readonly feed: (feed: ActiveFeed, media: FrameSource, priority: number | null) => () => void
  /** Joins publishers that send layers of one source. */
  readonly simulcast: Simulcast
  /** Decides on the key of a push ingest. */
  readonly streamKeys: (key: string, protocol: Protocol, connection: PublisherConnection) => Promise<PublishAnswer>
}

/** Where a publisher wants to publish to. The edge of each protocol reads it from its addresses. */
export type Destination =
  | {
      readonly kind: 'stream'
      readonly streamName: string
      /** The token; null: none. */
      readonly presented: string | null
      readonly sourceId: string | null
      /** Absent: it sends a source by itself. */
      readonly layer?: LayerAddress
      readonly parameters: PublishingParameters
    }
  | { readonly kind: 'key'; readonly key: string }
  | {
      readonly kind: 'none'
      readonly why: string
      /** What the address names anyway. Absent: nothing. */
      readonly of?: Pick<StreamDestination, 'streamName' | 'presented'>
    }

type StreamDestination = Extract<Destination, { kind: 'stream' }>

/** The recorded end reason of a session. */
const REASONS: Readonly<Record<PublishEnd, SessionEndReason>> = {
  left: 'left',
  lost: 'lost',
  invalid: 'invalid_media',
  cut: 'kicked',
  stopped: 'shutdown',
}

/** The notice for each reason, where that of any end would say too little. */
const CUTS = {
  token_deleted: 'cut_token_gone',
  token_refreshed: 'cut_token_gone',
  token_revoked: 'cut_token_gone',
  token_edited: 'cut_token_edited',
  token_expired: 'cut_token_expired',
  replaced: 'publisher_replaced',
  kicked: 'cut_kicked',
  stopped: 'cut_stopped',
  reprioritized: 'cut_reprioritized',
  moved: 'cut_moved',
  shutdown: 'cut_shutdown',
  lost: 'cut_lost',
} as const satisfies Partial<Record<SessionEndReason, NoticeCode>>

/** What a publisher reads when its session ends for this reason. */
export const cutNotice = (reason: SessionEndReason): Said => say(coded(isOfCuts(reason) ? CUTS[reason] : 'cut'))

const isOfCuts = (reason: SessionEndReason): reason is keyof typeof CUTS => Object.hasOwn(CUTS, reason)

/**
 * Answers a publisher whose protocol delivers whole frames, before it sends any. An admitted one has a session: its feed goes on
 * the air with its first tracks, and ends with the connection.
 */
export async function answerPublisher(
  parts: IngestParts,
  protocol: Protocol,
  connection: PublisherConnection,
  destination: Destination,
): Promise<PublishAnswer> {
  switch (destination.kind) {
    case 'stream':
      return broadcast(parts, protocol, connection, destination)
    case 'key':
      return parts.streamKeys(destination.key, protocol, connection)
    case 'none': {
      const { why, of } = destination
      if (of !== undefined) await recordParameter(parts.ctx, publishAttempt(protocol, connection, of), why)
      return { ok: false, status: why, reason: 'address' }
    }
  }
}

const UNKNOWN: Address = { family: 6, text: '::' }

/** What a publisher wants, before anything is decided. The token names the account, and there are no pages. */
export function publishAttempt(
  protocol: Protocol,
  { peer }: Pick<PublisherConnection, 'peer'>,
  { streamName, presented }: Pick<StreamDestination, 'streamName' | 'presented'>,
): AccessAttempt {
  const address = parseAddress(peer) ?? UNKNOWN
  return { action: 'publish', protocol, streamName, presented, address, accountId: null, origin: null }
}

async function broadcast(
  parts: IngestParts,
  protocol: Protocol,
  connection: PublisherConnection,
  destination: StreamDestination,
): Promise<PublishAnswer> {
  const { ctx } = parts
  const { sourceId, layer, parameters } = destination
  const pace = new MediaPace()
  const attempt = publishAttempt(protocol, connection, destination)
  const admitted = await admitPublisher(ctx, attempt, {
    ...parameters,
    sourceId,
    ...(layer && { layer: layer.name }),
    lateMs: (nowMs) => pace.lateMs(nowMs),
    show: (feed) => parts.feed(feed, hub, ctx.sessions.get(feed.sessionId)?.standing?.priority ?? null),
    cut: (_, reason) => connection.cut(cutNotice(reason).message, reason),
    askToMove: connection.askToMove,
  })
  if (!admitted.ok) return { ok: false, status: admitted.message, reason: reasonOf(admitted), code: admitted.code }
  const { session } = admitted
  const hub = parts.makeHub(parameters.utcTime ?? (admitted.token?.enableUTCInsertion === true ? 'all' : 'none'))
  const out = mediaOf(parts, layer, { session, connection, attempt }, hub)
  noteUnknownParameters(ctx, session, parameters)
  const meter = parts.makeMeter()
  const sink = new Broadcast(parts, { session, connection, out, pace, meter, without: parameters.without })
  return {
    ok: true,
    sink,
    bytes: (bytesIn, link) => {
      if (link !== undefined) meter.link(link, ctx.clock.monotonic())
      countBytes(ctx, session.id, { bytesIn, bytesOut: 0, frames: sink.frames, source: meter.reading() })
    },
    ended(reason, why) {
      if (why !== undefined) recordInvalidMedia(ctx, session, attempt, why.message)
      void closeSession(ctx, session.id, REASONS[reason])
    },
  }
}

function reasonOf({ status, code }: Extract<PublisherAdmission, { ok: false }>): PublishRefusal {
  if (status === 429) return 'limit'
  if (status === 503) return 'unavailable'
  return code === 'invalid_token' || code.startsWith('token_') ? 'unauthorized' : 'forbidden'
}

/** A publisher of which nothing is taken for this long is told so. Microseconds of its own clock. */
const NOTHING_TAKEN_US = 5_000_000

interface BroadcastOptions {
  readonly session: Session
  readonly connection: PublisherConnection
  readonly out: PublisherMedia
  /** Tells when its media is late. */
  readonly pace: MediaPace
  readonly meter: SourceMeter
  readonly without: PublishingParameters['without']
}

/** The media of a session that is taken. The feed goes on the air with its first tracks. */
class Broadcast implements PublishSink {
  readonly takesLayers = true
  /** Frames of the main layer of the video so far. */
  frames = 0
  readonly #parts: IngestParts
  readonly #of: BroadcastOptions
  #mainLayer: string | undefined
  #began = false
  #leftOutSinceUs: number | null = null

  constructor(parts: IngestParts, options: BroadcastOptions) {
    this.#parts = parts
    this.#of = options
  }

  tracks(all: Parameters<FrameSink['tracks']>[0]): void {
    const { without, out, session } = this.#of
    const tracks = all.filter(({ kind }) => kind !== without)
    if (tracks.length === 0) return
    this.#mainLayer = tracks.find((track) => track.kind === 'video')?.layer
    out.sink.tracks(tracks)
    this.#of.meter.tracks(tracks)
    noteTracks(this.#parts.ctx, session.id, tracks)
    if (this.#began) return
    this.#began = true
    if (this.#of.out.media !== null) void this.#goLive(this.#of.out.media)
  }

  frame(frame: Parameters<FrameSink['frame']>[0]): void {
    const { without, out, pace, meter } = this.#of
    if (frame.kind === without) return this.#leftOut(frame.timeUs)
    const nowMs = this.#parts.ctx.clock.monotonic()
    if (frame.layer === this.#mainLayer && frame.kind === 'video') this.frames += 1
    pace.came(frame.decodeTimeUs / 1000, nowMs)
    meter.frame(frame, nowMs)
    out.sink.frame(frame)
  }

  /** Ends a broadcast that has nothing else. */
  #leftOut(timeUs: number): void {
    if (this.#began) return
    this.#leftOutSinceUs ??= timeUs
    if (timeUs - this.#leftOutSinceUs < NOTHING_TAKEN_US) return
    const { without, connection } = this.#of
    const [left, missing] = without === 'video' ? ['video', 'audio'] : ['audio', 'video']
    void connection.cut(`No ${missing} came, and the address asks to leave the ${left} out`)
  }

  end(reason: PublishEnd = 'lost'): void {
    const { session, out } = this.#of
    const standing = this.#parts.ctx.sessions.get(session.id)?.standing
    if (standing) standing.mediaEnd = REASONS[reason]
    out.sink.end()
  }

  /** A feed that the store cannot record is not on the air: Sluice disconnects its publisher, which will reconnect. */
  async #goLive(media: FrameSource): Promise<void> {
    const { ctx } = this.#parts
    const { session, connection } = this.#of
    const { id: sessionId, protocol } = session
    const active = await goLive(ctx, sessionId, media).catch((error: unknown) => {
      ctx.log.warn({ sessionId, protocol, err: error }, 'a feed could not go on the air')
      return undefined
    })
    if (active === undefined && !ctx.sessions.isSpare(sessionId))
      await connection.cut('Service unavailable: try again later')
  }
}
