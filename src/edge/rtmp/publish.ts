import type { Context } from '../../commands/context.ts'
import { admitPublisher, noteUnknownParameters } from '../../commands/sessions/admit.ts'
import { closeSession } from '../../commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../commands/sessions/count.ts'
import { goLive } from '../../commands/sessions/goLive.ts'
import { type Address, parseAddress } from '../../core/access/address.ts'
import type { SessionEndReason } from '../../core/sessions/endReason.ts'
import type { FrameSink, FrameSource } from '../../media/frame.ts'
import type { PublishAnswer, PublishRequest, RtmpEnd } from '../../media/rtmp/types.ts'
import type { ActiveFeed, Session } from '../../media/sessionRegistry.ts'
import { type Destination, readDestination } from './address.ts'

export interface RtmpParts {
  readonly ctx: Context
  /** Makes the hub that distributes the media of a publication. */
  readonly makeHub: () => FrameSink & FrameSource
  /** Passes a feed on the air to the media engine for its viewers. It ends with its media. */
  readonly feed?: ((feed: ActiveFeed, media: FrameSource) => void) | undefined
  /** Decides on `rtmp://host/live/{key}`; absent: every key is refused. */
  readonly streamKeys?: ((key: string, request: PublishRequest) => Promise<PublishAnswer>) | undefined
}

const NO_STREAM_KEYS = 'Unauthorized: Invalid stream key'

/** The recorded end reason of a session. */
const REASONS: Readonly<Record<RtmpEnd, SessionEndReason>> = {
  left: 'left',
  lost: 'lost',
  invalid: 'invalid_media',
  cut: 'kicked',
  stopped: 'shutdown',
}

const CUT = 'The broadcast was ended by the server'
/** What an encoder reads when its session ends for this reason, where `CUT` alone would say too little. */
const CUT_TEXTS: Readonly<Partial<Record<SessionEndReason, string>>> = {
  token_deleted: 'Unauthorized: Invalid token',
  token_refreshed: 'Unauthorized: Invalid token',
  token_edited: 'Unauthorized: The token was changed and no longer allows this broadcast',
  token_expired: 'Unauthorized: Token expired',
  replaced: 'Replaced by another publisher of the same stream',
  kicked: `${CUT}: its session was ended through the API`,
  stopped: `${CUT}: the stream was stopped`,
  shutdown: 'The server is stopping; connect again',
  lost: 'The server lost track of this broadcast; connect again',
}

/** Translates an RTMP publication into the commands of a broadcast, for `startRtmp`. */
export function publishOverRtmp(parts: RtmpParts): (request: PublishRequest) => Promise<PublishAnswer> {
  return async (request) => {
    const destination = readDestination(request)
    switch (destination.kind) {
      case 'stream':
        return broadcast(parts, request, destination)
      case 'key':
        return parts.streamKeys?.(destination.key, request) ?? { ok: false, status: NO_STREAM_KEYS }
      case 'none':
        return { ok: false, status: destination.why }
    }
  }
}

const UNKNOWN: Address = { family: 6, text: '::' }

async function broadcast(
  parts: RtmpParts,
  request: PublishRequest,
  { streamName, presented, sourceId, parameters }: Extract<Destination, { kind: 'stream' }>,
): Promise<PublishAnswer> {
  const { ctx } = parts
  const address = parseAddress(request.peer) ?? UNKNOWN
  const attempt = { streamName, presented, address, accountId: null, origin: null }
  const admitted = await admitPublisher(
    ctx,
    { ...attempt, action: 'publish', protocol: 'rtmp' },
    { sourceId, noRecord: parameters.noRecord, cut: (_, reason) => request.cut(CUT_TEXTS[reason] ?? CUT) },
  )
  if (!admitted.ok) return { ok: false, status: admitted.message }
  const { session } = admitted
  noteUnknownParameters(ctx, session, parameters)
  const sink = new Broadcast(parts, session, request)
  return {
    ok: true,
    sink,
    bytes: (bytesIn) => countBytes(ctx, session.id, { bytesIn, bytesOut: 0, frames: sink.frames }),
    ended: (reason) => void closeSession(ctx, session.id, REASONS[reason]),
  }
}

/** The media of a session. The feed goes on the air with its first tracks. */
class Broadcast implements FrameSink {
  /** Video frames so far. */
  frames = 0
  readonly #parts: RtmpParts
  readonly #session: Session
  readonly #request: PublishRequest
  readonly #hub: FrameSink & FrameSource
  #began = false

  constructor(parts: RtmpParts, session: Session, request: PublishRequest) {
    this.#parts = parts
    this.#session = session
    this.#request = request
    this.#hub = parts.makeHub()
  }

  tracks(tracks: Parameters<FrameSink['tracks']>[0]): void {
    this.#hub.tracks(tracks)
    noteTracks(this.#parts.ctx, this.#session.id, tracks)
    if (this.#began) return
    this.#began = true
    void this.#goLive()
  }

  frame(frame: Parameters<FrameSink['frame']>[0]): void {
    if (frame.kind === 'video') this.frames += 1
    this.#hub.frame(frame)
  }

  end(): void {
    this.#hub.end()
  }

  /** A feed that the store cannot record is not on the air: Sluice disconnects its encoder, which will reconnect. */
  async #goLive(): Promise<void> {
    const { ctx, feed } = this.#parts
    const { id: sessionId } = this.#session
    const active = await goLive(ctx, sessionId, this.#hub).catch((error: unknown) => {
      ctx.log.warn({ sessionId, err: error }, 'an RTMP feed could not go on the air')
      return undefined
    })
    if (active) feed?.(active, this.#hub)
    else await this.#request.cut('Service unavailable: try again later')
  }
}
