import { timeOrderedId } from '../../src/base/ids.ts'
import { cliActor } from '../../src/commands/context.ts'
import { admitPublisher, admitViewer, admitViewerAnywhere } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { kickSession } from '../../src/commands/sessions/sessions.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { attemptOf, silentMedia } from '../support/testNode.ts'
import type { Grant } from './grants.ts'
import type { SimNode } from './node.ts'
import type { Scheduler } from './scheduler.ts'
import type { Client } from './seen.ts'

const STREAMS = ['one', 'two'] as const

interface ClientsOptions {
  readonly scheduler: Scheduler
  readonly accountId: () => string
  /** Notes an error of something that must not fail. */
  readonly guard: (work: Promise<unknown>) => Promise<void>
}

/** Publishers and viewers: how they come, what they send, and how they go. */
export class Clients {
  readonly all: Client[] = []
  readonly #options: ClientsOptions

  constructor(options: ClientsOptions) {
    this.#options = options
  }

  connect(node: SimNode, grant: Grant): void {
    const { random } = this.#options.scheduler
    const protocol = grant.kind === 'publish' ? 'whip' : random.chance(0.5) ? 'whep' : 'hls'
    this.#begin(node, grant, { protocol, streamName: STREAMS[random.below(STREAMS.length)] ?? STREAMS[0] })
  }

  /** A viewer of each stream comes to this node. */
  watchAll(node: SimNode, grant: Grant): void {
    for (const streamName of STREAMS) this.#begin(node, grant, { protocol: 'whep', streamName })
  }

  /** Each stream gets a publisher at a node. */
  publishAll(nodes: readonly SimNode[], grant: Grant): void {
    for (const streamName of STREAMS) {
      const node = nodes[this.#options.scheduler.random.below(nodes.length)]
      if (node) this.#begin(node, grant, { protocol: 'whip', streamName })
    }
  }

  #begin(node: SimNode, grant: Grant, what: Pick<Client, 'protocol' | 'streamName'>): void {
    const { random } = this.#options.scheduler
    const client: Client = {
      node,
      grant,
      id: timeOrderedId(node.clock.now(), random),
      isPublisher: grant.kind === 'publish',
      ...what,
      address: `192.0.2.${1 + random.below(4)}`,
      state: 'asking',
      wasAdmitted: false,
      isKicked: false,
      bytes: 0,
    }
    this.all.push(client)
    void this.#options.guard(this.#admit(client))
  }

  async #admit(client: Client): Promise<void> {
    const { node, grant, id: sessionId, isPublisher, protocol, streamName, address: ip } = client
    const { ctx } = node
    const [wasRevoked, drained, wasFull] = [grant.revoked === 'said', ctx.sessions.drain !== null, node.isFull]
    const cut = async (): Promise<void> => {
      client.state = 'over'
      await this.#options.scheduler.turn(node)
      await closeSession(ctx, sessionId, 'left')
    }
    const request = { sourceId: null, sessionId, cut }
    const use = { presented: grant.value, streamName, ip }
    const view = protocol === 'whep' ? admitViewer : admitViewerAnywhere
    const accountId = this.#options.accountId()
    const answer = isPublisher
      ? await admitPublisher(ctx, attemptOf(use), request)
      : await view(ctx, attemptOf({ ...use, action: 'view', protocol, accountId }), request)
    if (!answer.ok) {
      client.state = 'over'
      return
    }
    if (wasRevoked) throw new Error(`session ${sessionId} began with a token that was revoked before`)
    if (drained) throw new Error(`session ${sessionId} began at a node that drained before`)
    if (wasFull && !isPublisher) throw new Error(`session ${sessionId} began at a node that was full before`)
    client.wasAdmitted = true
    // As an edge does: it may have been cut before it was admitted.
    if (client.state === 'over' || !ctx.sessions.has(sessionId)) {
      client.state = 'over'
      return
    }
    client.state = 'open'
    if (isPublisher) await this.#goLive(client)
  }

  async #goLive(client: Client): Promise<void> {
    const { ctx } = client.node
    try {
      await goLive(ctx, client.id, silentMedia)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      client.state = 'over'
      await closeSession(ctx, client.id, 'lost')
    }
  }

  leave(): void {
    const client = this.#anyOpen()
    if (!client) return
    client.state = 'over'
    void this.#options.guard(closeSession(client.node.ctx, client.id, 'left'))
  }

  /** Media flows at every running node. */
  send(): void {
    for (const client of this.all) {
      if (client.state !== 'open' || !client.node.isRunning) continue
      client.bytes += 1 + this.#options.scheduler.random.below(1000)
      const [bytesIn, bytesOut] = client.isPublisher ? [client.bytes, 0] : [0, client.bytes]
      countBytes(client.node.ctx, client.id, { bytesIn, bytesOut })
    }
  }

  /** A person asks a node to end a session of any node. */
  kick(node: SimNode): void {
    const client = this.#anyOpen()
    if (!client) return
    const asked = kickSession(node.ctx, cliActor(this.#options.accountId()), client.id)
    void this.#options.guard(asked.then(({ ok }) => void (client.isKicked ||= ok)))
  }

  /** Their node has ended, and they notice. */
  lose(node: SimNode): void {
    for (const client of this.all) if (client.node === node) client.state = 'over'
  }

  #anyOpen(): Client | undefined {
    const open = this.all.filter(({ state, node }) => state === 'open' && node.isRunning)
    return open[this.#options.scheduler.random.below(open.length)]
  }
}
