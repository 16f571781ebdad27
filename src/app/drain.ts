import type { App } from './app.ts'
import { NodeDrain } from '../commands/nodes/nodeDrain.ts'
import type { PushedKeys } from '../services/pushedKeys.ts'

export interface DrainPart {
  /** Drains this node, also if the store cannot be reached. Idempotent, never rejects. */
  request(): Promise<void>
  /** See `NodeDrain.over`. */
  readonly over: Promise<void>
  stop(): Promise<void>
}

/** Drains this node when its row says so, or a signal. */
export function startDrain(app: App, pushed: PushedKeys): DrainPart {
  const { ctx, due } = app
  const drain = new NodeDrain(ctx, { drainMs: () => app.config.server.drainSeconds * 1000, pushed })
  const requests = due.on('drain', () => drain.begin())
  return {
    over: drain.over,
    async request() {
      const noted = ctx.store
        .transaction((tx) => tx.nodes.drain(ctx.sessions.node))
        .catch((error: unknown) => ctx.log.warn({ err: error }, 'other nodes cannot see yet that this node drains'))
      await Promise.all([drain.begin(), noted])
    },
    async stop() {
      await requests.stop()
      await drain.stop()
    },
  }
}
