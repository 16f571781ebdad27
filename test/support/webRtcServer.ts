import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp, type App } from '../../src/app.ts'
import { authorize, type Approach } from '../../src/commands/authorize.ts'
import type { Context } from '../../src/commands/context.ts'
import { createToken } from '../../src/commands/createToken.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { TokenKind } from '../../src/core/access/types.ts'
import { buildServer } from '../../src/edge/http/server.ts'
import type { LiveSession } from '../../src/media/sessions.ts'
import { silentLog } from './app.ts'
import { ScriptedEngine } from './scriptedEngine.ts'

export interface WebRtcServer {
  app: App
  base: string
  accountId: string
  engine: ScriptedEngine
  closed: { sessionId: string; reason: string }[]
  /** Streams that are on the air. */
  live: Set<string>
  token(kind: TokenKind, body: object): Promise<{ id: number; token: string }>
  close(): Promise<void>
}

/** The HTTP edge over a real store and real decisions, with an engine that does what the test says. */
export async function serveWebRtc({
  iceServers = [],
  maxPending = 64,
}: {
  iceServers?: readonly string[]
  maxPending?: number
} = {}): Promise<WebRtcServer> {
  const dir = await mkdtemp(join(tmpdir(), 'sluice-webrtc-'))
  const config = loadConfig({ env: {}, flags: { data: { dir } } })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  const app = await openApp({ config: config.value, log: silentLog })
  const [account] = await app.ctx.store.read.accounts.list()
  const accountId = account!.id
  const engine = new ScriptedEngine()
  const closed: WebRtcServer['closed'] = []
  const live = new Set<string>()
  let count = 0
  const admit = async (ctx: Context, approach: Approach, sourceId: string | null) => {
    const { decision } = await authorize(ctx, approach)
    if (!decision.allowed) return { ok: false as const, status: 401 as const, ...decision }
    const { tokenId, trackingId } = decision
    const { action, protocol, streamName, origin } = approach
    const session: LiveSession = {
      id: `session-${count++}`,
      action,
      protocol,
      streamName,
      sourceId,
      origin,
      tokenId,
      trackingId,
      accountId: decision.accountId,
      jti: null,
      country: null,
      startedAtMs: 0,
      address: approach.address.text,
    }
    return { ok: true as const, session }
  }
  const http = await buildServer(app.ctx, {
    version: '0.0.0',
    bodyLimitBytes: 1_048_576,
    requestTimeoutMs: 5000,
    trustedProxies: [],
    metricsSecret: '',
    sign: app.sign,
    webRtc: {
      engine,
      iceServers,
      maxPending,
      live: {
        admitPublisher: (ctx, approach, { sourceId }) => admit(ctx, approach, sourceId),
        admitViewer: async (ctx, approach, { sourceId }) => {
          const admitted = await admit(ctx, approach, sourceId)
          if (admitted.ok && !live.has(approach.streamName))
            return { ok: false, status: 409, code: 'stream_not_published', message: 'Stream not being published' }
          return admitted.ok ? { ...admitted, feed: {} as never } : admitted
        },
        closeSession: async (_ctx, sessionId, reason) => void closed.push({ sessionId, reason }),
      },
    },
  })
  await http.listen({ host: '127.0.0.1', port: 0 })
  const actor = { accountId, name: 'cli', address: null, requestId: null }
  return {
    app,
    accountId,
    engine,
    closed,
    live,
    base: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`,
    async token(kind, body) {
      const made = await createToken(app.ctx, actor, kind, { label: 'test', ...body })
      if (!made.ok) throw new Error(JSON.stringify(made.error))
      return made.value
    },
    async close() {
      await http.close()
      await app.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
