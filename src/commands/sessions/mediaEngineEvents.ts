import type { MediaEngine, MediaEngineEvent } from '../../media/engine.ts'
import type { SessionContext } from '../context.ts'
import { closeSession } from './close.ts'
import { countBytes, noteTracks } from './count.ts'
import { goLive } from './goLive.ts'

/**
 * Applies the media engine's events to sessions. It puts a publisher on the air when its media arrives, counts bytes,
 * and closes sessions that ended. Returns the function that stops it.
 */
export function followEngine(ctx: SessionContext, engine: MediaEngine): () => void {
  const inOrder = perSession(ctx)
  ctx.nodeLoad.engine = engine
  return engine.watch((event) => {
    switch (event.kind) {
      case 'connected':
        ctx.sessions.get(event.sessionId)?.slot.connected()
        return inOrder(event.sessionId, () => connected(ctx, engine, event.sessionId))
      case 'bytes':
        return countBytes(ctx, event.sessionId, event)
      case 'ended':
        return inOrder(event.sessionId, () => closeSession(ctx, event.sessionId, event.reason))
      case 'silent':
        return heard(ctx, event)
      case 'waits':
        return waited(ctx, event)
      case 'feedback':
        return ctx.viewerFeedback.heard(event.rooms)
      case 'died':
        return died(ctx, event)
      case 'tracks':
        return noteTracks(ctx, event.sessionId, event.tracks)
    }
  })
}

function heard({ sessions }: SessionContext, { sessionId, isSilent }: { sessionId: string; isSilent: boolean }): void {
  const standing = sessions.get(sessionId)?.standing
  if (standing) standing.isSilent = isSilent
}

function waited(
  { mediaProcesses, nodeLoad }: SessionContext,
  event: Extract<MediaEngineEvent, { kind: 'waits' }>,
): void {
  mediaProcesses.waited(event)
  nodeLoad.heard(event)
}

function died(ctx: SessionContext, event: Extract<MediaEngineEvent, { kind: 'died' }>): void {
  const { detail, sessions, isHung } = event
  ctx.mediaProcesses.ended(event)
  ctx.nodeLoad.forget(event.process)
  ctx.log.warn({ detail, sessions }, `a media process ${isHung ? 'hung' : 'died'} and its sessions ended`)
}

/** A feed that cannot be recorded is not on the air: Sluice ends its session, and the publisher will reconnect. */
async function connected(ctx: SessionContext, engine: MediaEngine, sessionId: string): Promise<void> {
  if (ctx.sessions.get(sessionId)?.session.action !== 'publish') return
  try {
    await goLive(ctx, sessionId, engine.tap(sessionId))
  } catch (error) {
    ctx.log.warn({ sessionId, err: error }, 'a feed could not be recorded in the store')
    await engine.end(sessionId)
  }
}

type Step = () => Promise<void>

/** Runs the steps of a session in sequence, so that a session that ends while going live has gone live first. */
function perSession(ctx: SessionContext): (sessionId: string, step: Step) => void {
  const last = new Map<string, Promise<void>>()
  return (sessionId, step) => {
    const before = last.get(sessionId) ?? Promise.resolve()
    const done = before.then(step).catch((error: unknown) => {
      ctx.log.error({ sessionId, err: error }, 'an event of the media engine could not be handled')
    })
    last.set(sessionId, done)
    void done.then(() => {
      if (last.get(sessionId) === done) last.delete(sessionId)
    })
  }
}
