import type { Engine, EngineEvent } from './engine.ts'

/**
 * An engine that is made and started with the first publisher or viewer, so that a server without media keeps its memory.
 * A start that fails is tried again with the next one.
 */
export function lazyEngine(make: () => Promise<Engine>): Engine {
  const listeners = new Set<(event: EngineEvent) => void>()
  let running: Engine | null = null
  let starting: Promise<Engine> | null = null
  let stopped = false

  const start = async (): Promise<Engine> => {
    if (stopped) throw new Error('the media engine has been stopped')
    const engine = await make()
    engine.watch((event) => {
      for (const listener of listeners) listener(event)
    })
    await engine.start()
    running = engine
    return engine
  }
  const started = (): Promise<Engine> => {
    starting ??= start().catch((error: unknown) => {
      starting = null
      throw error
    })
    return starting
  }
  return {
    start: async () => undefined,
    async stop() {
      stopped = true
      const engine = await starting?.catch(() => null)
      await engine?.stop()
    },
    publish: async (request) => (await started()).publish(request),
    view: async (request) => (await started()).view(request),
    feed: async (request) => (await started()).feed(request),
    patch: async (sessionId, fragment) =>
      running?.patch(sessionId, fragment) ?? { ok: false, status: 404, problem: 'There is no such session.' },
    end: async (sessionId) => running?.end(sessionId),
    tap(sessionId) {
      if (running === null) throw new Error('a session is tapped before the engine was started')
      return running.tap(sessionId)
    },
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
