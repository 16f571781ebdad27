import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { openApp, type App } from '../../src/app/app.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { isPostgresUrl } from '../../src/base/postgresUrl.ts'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import type { AccessAttempt } from '../../src/commands/access/authorize.ts'
import { cliActor, type Context } from '../../src/commands/context.ts'
import { admitPublisher, admitViewer } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { type ServingNode, startNode } from '../../src/commands/nodes/servingNode.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import type { FrameSource } from '../../src/media/frame.ts'
import type { Cut } from '../../src/media/sessionRegistry.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { buildHttp } from '../../src/app/server.ts'
import { startLeases } from '../../src/store/leases/leases.ts'
import { unrenewed } from './leases.ts'
import { NODE_FACTS } from './nodeFacts.ts'
import { CHEAP_PASSWORDS } from './passwords.ts'
import { migrateByCopy, newPlace } from './place.ts'
import { SEALING_KEY } from './sealingKey.ts'

/** A node without sockets, timers and deliveries: everything happens under the test's control. */
export interface TestNode {
  app: App
  ctx: Context
  node: ServingNode
  accountId: string
  /** Of its database, for further nodes. */
  url: string
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Answered>
  /** The metrics for Prometheus. */
  scrape(): Promise<string>
  /** Leaves the sessions as they are, as a crash does. */
  crash(): Promise<void>
  close(): Promise<void>
}

interface Answered {
  status: number
  json: ReturnType<typeof JSON.parse>
}

/** Tests break things on purpose, so their log lines are of no interest. */
const quietLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quietLog,
}

export interface NodeSettings {
  /** Absent: a SQLite database of its own, which `close` removes. */
  url?: string
  clock?: Clock
  /** The clock of its machine, which may be wrong. */
  machineClock?: Clock
  hostKey?: string
  leaseMs?: number
  isRunning?: (pid: number) => boolean
  max?: number
  /** Additional configuration. */
  flags?: PartialConfig
  /** Where clients reach it; absent: it has no URL. */
  nodeUrl?: string
  /** Null: that of a server. By default passwords are cheap. */
  passwordCost?: null
  /** Its lease is renewed, as that of a server; else it lasts for `leaseMs`, by default longer than any test on a busy machine. */
  renewed?: boolean
}

const FACTS = { ...NODE_FACTS, version: '9.8.7', cores: 4, cpuPercent: 12 }

export async function startTestNode(settings: NodeSettings = {}): Promise<TestNode> {
  const own = settings.url === undefined ? await newPlace('SQLite') : null
  const {
    url = own?.url ?? '',
    clock,
    machineClock,
    leaseMs = LEASE_MAX_MS,
    isRunning = () => true,
    max = 10_000,
  } = settings
  if (!isPostgresUrl(url)) await migrateByCopy(url)
  const dir = await mkdtemp(join(tmpdir(), 'sluice-live-'))
  const secrets = { sealingKey: SEALING_KEY }
  // A clock that a test advances makes the store look silent.
  const access = { staleSeconds: 3600 }
  const { flags: more = {} } = settings
  const flags = { data: { dir }, storage: { url }, secrets, access, ...more, sessions: { max, ...more.sessions } }
  const config = loadConfig({ env: {}, flags })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  const app = await openApp({
    config: config.value,
    log: quietLog,
    hasJobs: false,
    ...(settings.passwordCost === null ? {} : { passwordCost: CHEAP_PASSWORDS }),
    ...(clock ? { clock } : {}),
    ...(machineClock ? { machineClock } : {}),
  })
  const { ctx } = app
  const hostKey = settings.hostKey ?? dir
  const pid = settings.hostKey ? 1 : process.pid
  const leases = settings.renewed ? startLeases(url, quietLog) : null
  const node = await startNode(ctx, {
    hostKey,
    pid,
    isRunning,
    leaseMs,
    leases: leases ?? unrenewed,
    url: settings.nodeUrl ?? null,
    facts: () => ({ ...FACTS, region: config.value.server.region }),
  })
  // Its routes take longer than all else of a node, and most nodes are asked nothing.
  let http: ReturnType<typeof buildHttp> | undefined
  const inject = async (request: InjectOptions) => (await (http ??= buildHttp(app))).inject(request)
  const [account] = await ctx.store.read.accounts.list()
  if (!account) throw new Error('no account')
  const actor = cliActor(account.id)
  const secret = await createSecret(ctx, actor, `test ${Math.random()}`)
  if (!secret.ok) throw new Error(JSON.stringify(secret.error))
  const headers = { authorization: `Bearer ${secret.value.value}` }
  const crash = async () => {
    await leases?.close()
    await (await http)?.close()
    await app.close()
    await rm(dir, { recursive: true, force: true })
  }
  return {
    app,
    ctx,
    node,
    accountId: account.id,
    url,
    async call(method, url_, payload, more = {}) {
      const all = { ...headers, ...more }
      const answer = await inject({ method, url: url_, headers: all, ...(payload ? { payload } : {}) })
      return { status: answer.statusCode, json: answer.body === '' ? undefined : answer.json() }
    },
    scrape: async () => (await inject({ url: '/metrics' })).body,
    crash,
    async close() {
      await node.stop()
      await crash()
      await own?.remove()
    },
  }
}

/** A source without media. */
export const silentMedia: FrameSource = { subscribe: () => () => undefined }

/** A connection that records how it was cut, and closes its session as an edge does. */
export interface Connection {
  session: Session
  cuts: string[]
}

export type Use = Partial<Omit<AccessAttempt, 'address'>> & { ip?: string; sourceId?: string | null }

export function attemptOf({ ip = '192.0.2.1', sourceId: _source, ...use }: Use): AccessAttempt {
  const address = parseAddress(ip)
  if (!address) throw new Error(ip)
  const protocol = use.action === 'view' ? 'whep' : 'whip'
  const rest = {
    action: 'publish',
    protocol,
    accountId: null,
    streamName: 'show',
    presented: null,
    origin: null,
  } as const
  return { ...rest, ...use, address }
}

function sessionRequestOf(
  { ctx }: Pick<TestNode, 'ctx'>,
  use: Use,
): { cuts: string[]; sessionRequest: { sourceId: string | null; cut: Cut } } {
  const cuts: string[] = []
  const cut: Cut = async (session, reason) => {
    cuts.push(reason)
    await closeSession(ctx, session.id, 'left')
  }
  return { cuts, sessionRequest: { sourceId: use.sourceId ?? null, cut } }
}

/** An admitted publisher without media so far. Throws on a refusal. */
export async function admit(at: Pick<TestNode, 'ctx'>, use: Use): Promise<Connection> {
  const { cuts, sessionRequest } = sessionRequestOf(at, use)
  const answer = await admitPublisher(at.ctx, attemptOf(use), sessionRequest)
  if (!answer.ok) throw new Error(`refused: ${answer.code}`)
  return { session: answer.session, cuts }
}

/** A publisher on the air. Throws on a refusal. */
export async function publish(at: Pick<TestNode, 'ctx'>, use: Use): Promise<Connection> {
  const connection = await admit(at, use)
  await goLive(at.ctx, connection.session.id, silentMedia)
  return connection
}

/** A viewer. Throws on a refusal. */
export async function view(at: Pick<TestNode, 'ctx' | 'accountId'>, use: Use = {}): Promise<Connection> {
  const { cuts, sessionRequest } = sessionRequestOf(at, use)
  const answer = await tryToView(at, use, sessionRequest)
  if (!answer.ok) throw new Error(`refused: ${answer.code}`)
  return { session: answer.session, cuts }
}

export const tryToView = (
  at: Pick<TestNode, 'ctx' | 'accountId'>,
  use: Use = {},
  sessionRequest = sessionRequestOf(at, use).sessionRequest,
) => admitViewer(at.ctx, attemptOf({ action: 'view', accountId: at.accountId, ...use }), sessionRequest)

/** Any server of the management interface. */
interface Managed {
  call(method: 'POST', path: string, body: object): Promise<Answered>
}

export async function makeToken(at: Managed, kind: 'publish' | 'subscribe', body: object = {}) {
  const streams = [{ streamName: '.*', isRegex: true }]
  const answer = await at.call('POST', `/api/${kind}_token`, { label: kind, streams, ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.json))
  return answer.json.data as { id: number; token: string; srtPassphrase?: string }
}

/** What is in the outbox, oldest first. */
export async function eventsOf({ ctx }: Pick<TestNode, 'ctx'>) {
  const rows = await ctx.store.read.outbox.pending(10_000)
  return rows.map((row) => ({
    name: `${row.type} ${row.event}`,
    data: JSON.parse(row.data) as Record<string, unknown>,
  }))
}
