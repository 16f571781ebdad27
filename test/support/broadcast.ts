import { type Clock, systemClock } from '../../src/base/clock.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import type { SessionEndReason } from '../../src/core/sessions/endReason.ts'
import type { ActiveFeed } from '../../src/media/sessionRegistry.ts'
import { Player, type Recorded } from '../media/ffmpeg/frames.ts'
import type { RunningApp } from './app.ts'
import { attemptOf, makeToken } from './testNode.ts'

export interface Broadcast {
  feed: ActiveFeed
  player: Player
  tokenId: number
  /** Ends the publisher. */
  end(): Promise<void>
}

export interface BroadcastOptions {
  speed?: number
  clock?: Clock
  streamName?: string
  token?: object
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
  return { feed, player, tokenId: made.id, end: () => over(answer.session.id, 'left') }
}
