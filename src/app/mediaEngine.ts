import { type App, CannotStart } from './app.ts'
import { explainListening, WEBRTC_INSTEAD } from '../cli/port.ts'
import { followEngine } from '../commands/sessions/mediaEngineEvents.ts'
import type { MediaEngine } from '../media/engine.ts'
import { systemNames } from '../net/resolve.ts'
import { createRelayEngine } from '../media/relay/processes/engine.ts'

/** The embedded engine. It starts no process before the first publisher or viewer, but holds the ports of all. */
export function relayEngine(app: App): MediaEngine {
  const { config, ctx } = app
  const { host, port, processes, maxBitrateKilobits, publisherTimeoutSeconds } = config.webrtc
  const maxBitrate = maxBitrateKilobits * 1000
  const publisherSilentMs = publisherTimeoutSeconds * 1000
  return createRelayEngine({
    log: ctx.log,
    now: () => ctx.clock.monotonic(),
    resolve: systemNames,
    config: {
      host,
      udpPort: port,
      processes,
      get publicAddresses() {
        return app.config.webrtc.publicAddresses
      },
      maxBitrate,
      maxSessions: config.sessions.max,
      publisherSilentMs,
    },
  })
}

/** @throws CannotStart when another program has one of its ports, such as a server that starts at the same time */
export async function startMediaEngine({ config }: App, engine: MediaEngine): Promise<void> {
  const { host, port } = config.webrtc
  try {
    await engine.start()
  } catch (error) {
    const failed = error as Error & { port?: number }
    throw new CannotStart(explainListening(failed, host || '::', failed.port ?? port, WEBRTC_INSTEAD))
  }
}

/** Handles the events of an engine until it is stopped. Returns what stops it. */
export function followed({ ctx }: App, engine: MediaEngine): () => Promise<void> {
  const unfollow = followEngine(ctx, engine)
  return async () => {
    await engine.stop()
    unfollow()
  }
}
