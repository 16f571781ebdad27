import type { Context } from '../../commands/context.ts'
import { type AccessAttempt, recordInvalidMedia } from '../../commands/access/authorize.ts'
import { endSession } from '../../commands/sessions/close.ts'
import { isSameSource } from '../../core/streams/streamId.ts'
import type { Session } from '../../core/sessions/types.ts'
import type { FrameSink, FrameSource } from '../../media/frame.ts'
import type { PublisherConnection } from '../../media/publishing.ts'
import type { LayerPublisher, PublisherMedia, Simulcast } from '../../media/simulcast.ts'

/** Whose layer it is that a publisher sends, as its address says. */
export interface LayerAddress {
  readonly name: string
  /** It is the broadcast, to which the others add theirs. */
  readonly isMain: boolean
}

interface LayerParts {
  readonly ctx: Context
  /** Joins publishers that send layers of one source. */
  readonly simulcast: Simulcast
}

interface Publisher {
  readonly session: Session
  readonly connection: PublisherConnection
  readonly attempt: AccessAttempt
}

/** @param hub passes the media of a feed on */
export function mediaOf(
  { ctx, simulcast }: LayerParts,
  layer: LayerAddress | undefined,
  publisher: Publisher,
  hub: FrameSink & FrameSource,
): PublisherMedia {
  if (layer === undefined) return { sink: hub, media: hub }
  const { accountId, streamName, sourceId } = publisher.session
  const source = JSON.stringify([accountId, streamName, sourceId])
  if (layer.isMain) return simulcast.main(source, layer.name, hub)
  return simulcast.layer(source, layerPublisher(ctx, layer, publisher))
}

function layerPublisher(
  ctx: Context,
  { name }: LayerAddress,
  { session, connection, attempt }: Publisher,
): LayerPublisher {
  const entry = ctx.sessions.get(session.id)
  const refused = (why: string): void => {
    recordInvalidMedia(ctx, session, attempt, why)
    void connection.cut(why)
  }
  return {
    name,
    priority: entry?.standing?.priority ?? null,
    replaced() {
      if (entry !== undefined) void endSession(ctx, entry, 'replaced')
    },
    refused,
    waits() {
      const { id: sessionId, accountId, streamName, sourceId } = session
      const remote = ctx.sessions.feeds.remotesOf(accountId, streamName)
      if (remote.some((feed) => isSameSource(feed, session))) return refused(AT_OTHER_NODE)
      ctx.sampled.publishers.info({ sessionId, accountId, streamName, sourceId, layer: name }, WAITS)
    },
  }
}

const AT_OTHER_NODE = 'The main publisher of the source is at another node: send all layers to one'
const WAITS = 'a layer waits for the publisher of its simulcastId that has no videoOnly'
