import { parseAddress } from '../../src/core/access/address.ts'
import type { Approach } from '../../src/commands/authorize.ts'
import type { FrameSource } from '../../src/media/frame.ts'
import type { Cut, LiveSession } from '../../src/media/sessions.ts'
import { admitPublisher, admitViewer } from '../../src/commands/live/admit.ts'
import { goLive } from '../../src/commands/live/goLive.ts'
import { closeSession } from '../../src/commands/live/close.ts'
import type { RunningApp } from './app.ts'

/** Media of nobody: nothing ever comes. */
export const silentMedia: FrameSource = { subscribe: () => () => undefined }

/** A connection that remembers how it was cut, and closes its session as an edge does. */
export interface ScriptedConnection {
  session: LiveSession
  cuts: string[]
}

export type Use = Partial<Omit<Approach, 'address'>> & { ip?: string; sourceId?: string | null }

export function approachOf({ ip = '192.0.2.1', sourceId: _source, ...use }: Use): Approach {
  const address = parseAddress(ip)
  if (!address) throw new Error(ip)
  return {
    action: 'publish',
    protocol: use.action === 'view' ? 'whep' : 'whip',
    accountId: null,
    streamName: 'show',
    presented: null,
    origin: null,
    ...use,
    address,
  }
}

function doorOf(sluice: RunningApp, use: Use): { cuts: string[]; door: { sourceId: string | null; cut: Cut } } {
  const cuts: string[] = []
  const cut: Cut = async (session, reason) => {
    cuts.push(reason)
    await closeSession(sluice.app.ctx, session.id, 'left')
  }
  return { cuts, door: { sourceId: use.sourceId ?? null, cut } }
}

/** A publisher on the air. Throws when it is refused. */
export async function publish(sluice: RunningApp, use: Use): Promise<ScriptedConnection> {
  const { cuts, door } = doorOf(sluice, use)
  const answer = await admitPublisher(sluice.app.ctx, approachOf(use), door)
  if (!answer.ok) throw new Error(`refused: ${answer.code}`)
  await goLive(sluice.app.ctx, answer.session.id, silentMedia)
  return { session: answer.session, cuts }
}

/** A viewer. Throws when it is refused. */
export async function view(sluice: RunningApp, use: Use): Promise<ScriptedConnection> {
  const { cuts, door } = doorOf(sluice, use)
  const answer = await tryToView(sluice, use, door)
  if (!answer.ok) throw new Error(`refused: ${answer.code}`)
  return { session: answer.session, cuts }
}

export const tryToView = (sluice: RunningApp, use: Use, door = doorOf(sluice, use).door) =>
  admitViewer(sluice.app.ctx, approachOf({ action: 'view', accountId: sluice.accountId, ...use }), door)

export async function makeToken(sluice: RunningApp, kind: 'publish' | 'subscribe', body: object = {}) {
  const answer = await sluice.call('POST', `/api/${kind}_token`, {
    label: kind,
    streams: [{ streamName: 'show' }, { streamName: '.*', isRegex: true }],
    ...body,
  })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.data as { id: number; token: string }
}

/** What is in the outbox, oldest first: `feeds started`, … with its data. */
export async function eventsOf(sluice: RunningApp) {
  const rows = await sluice.app.ctx.store.read.outbox.pending(1000)
  return rows.map((row) => ({
    name: `${row.type} ${row.event}`,
    data: JSON.parse(row.data) as Record<string, unknown>,
  }))
}

/** Resolves when `holds` does; fails after `ms`. */
export async function until(holds: () => boolean | Promise<boolean>, ms = 5000): Promise<void> {
  const giveUpAt = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${ms} ms: ${holds.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
