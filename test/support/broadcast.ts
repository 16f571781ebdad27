import { type Clock, systemClock } from '../../src/base/clock.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession, endSession } from '../../src/commands/sessions/close.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import type { SessionEndReason } from '../../src/core/sessions/endReason.ts'
import type { ActiveFeed } from '../../src/media/feedsOnAir.ts'
import { Player, type Recorded } from '../media/ffmpeg/frames.ts'
import type { RunningApp } from './app.ts'
import { attemptOf, makeToken } from './testNode.ts'
import { until } from './until.ts'

export interface Broadcast {
  feed: ActiveFeed
  player: Player
  tokenId: number
  /** The publisher says goodbye. */
  end(): Promise<void>
  /** It is gone without a goodbye. */
  vanish(): Promise<void>
}

export interface BroadcastOptions {
  speed?: number
  clock?: Clock
  streamName?: string
  token?: object
}

/** A feed that is on the air. */
export const feedNamed = (sluice: RunningApp, name: string): ActiveFeed | undefined =>
  sluice.app.ctx.sessions.feeds.all().find(({ streamName }) => streamName === name)

/** The codecs of a feed, of which frames of each kind have come. */
export async function codecsOnAir(sluice: RunningApp, name: string): Promise<string[]> {
  const { media } = await until(() => feedNamed(sluice, name))
  const kinds = new Set<string>()
  let codecs: string[] = []
  const leave = media.subscribe({
    tracks: (tracks) => (codecs = tracks.map(({ codec }) => codec)),
    frame: ({ kind }) => kinds.add(kind),
    end: () => undefined,
  })
  await until(() => codecs.length > 0 && kinds.size === codecs.length)
  leave()
  return codecs
}

/** A publisher with its own token, whose media really plays. */
export async function broadcast(
  sluice: RunningApp,
  recorded: Recorded,
  { speed = 6, clock = systemClock, streamName = 'show', token = {} }: BroadcastOptions = {},
): Promise<Broadcast> {
  const { ctx } = sluice.app
  const made = await makeToken(sluice, 'publish', token)
  const player = new Player(recorded, speed, clock)
  const attempt = attemptOf({ presented: made.token, streamName })
  const over = async (sessionId: string, reason: SessionEndReason) => {
    player.end()
    await closeSession(ctx, sessionId, reason)
  }
  const answer = await admitPublisher(ctx, attempt, { sourceId: null, cut: ({ id }, reason) => over(id, reason) })
  if (!answer.ok) throw new Error(answer.message)
  const feed = await goLive(ctx, answer.session.id, player)
  if (!feed) throw new Error('the session is over')
  const { id } = answer.session
  return {
    feed,
    player,
    tokenId: made.id,
    async end() {
      const entry = ctx.sessions.get(id)
      if (entry) await endSession(ctx, entry, 'left')
    },
    vanish: () => over(id, 'lost'),
  }
}
