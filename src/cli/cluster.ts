import { isoTime } from '../base/time.ts'
import { setTimeout } from 'node:timers/promises'
import { isRunning } from '../base/processes.ts'
import { err, ok } from '../base/result.ts'
import { cliActor } from '../commands/context.ts'
import { drainNode } from '../commands/nodes/drain.ts'
import { type ClusterNode, clusterNodes } from '../commands/nodes/listNodes.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import { machineOf } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { NodeLink } from '../core/nodes/nodeLinks.ts'
import { failure } from '../core/errors.ts'
import { command } from './command.ts'
import { textFlag, toggleFlag } from './flag.ts'
import type { OpenedApp } from './host.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { withApp } from './session.ts'

const status = command({
  path: ['cluster', 'status'],
  summary: 'List the servers of this database, with what each has open',
  detail: [
    'A `draining` server takes nothing new and ends soon. A `silent` one did not renew its lease: the others end its sessions.',
    '`host` is the name of the machine, and `cpu` how busy it is. `lease` is the time since the last renewal, which comes every two',
    'seconds. `links` counts the streams that go to other servers (`out`), come from them (`in`), and are passed on within the region',
    '(`relayed`), and the servers whose streams do not come (`failed`).',
  ].join('\n'),
  flags: WATCH_FLAGS,
  examples: ['sluice cluster status --watch', 'sluice cluster status --json'],
  run: (call) =>
    withApp(call, async ({ ctx }) => {
      const nodes = await clusterNodes(ctx)
      return ok({ json: nodes.map(recordOf), text: listing(COLUMNS, nodes) })
    }),
})

const COLUMNS: Columns<ClusterNode> = {
  id: ['key', ({ id }) => id],
  host: ['text', ({ hostKey }) => machineOf(hostKey)],
  state: ['text', ({ state }) => state],
  version: ['text', ({ version }) => version],
  region: ['text', ({ region }) => region || undefined],
  cpu: ['percent', ({ cpuPercent }) => cpuPercent],
  feeds: ['text', ({ feeds }) => feeds],
  publishers: ['text', ({ publishers }) => publishers],
  viewers: ['text', ({ viewers }) => viewers],
  lease: ['seconds', ({ leaseAgeMs }) => Math.round(leaseAgeMs / 100) / 10],
  since: ['since', ({ startedAtMs }) => isoTime(startedAtMs)],
  links: ['text', ({ links }) => links && linksText(links)],
  url: ['key', ({ url }) => url],
}

function linksText(links: readonly NodeLink[]): string {
  const sum = (name: 'lent' | 'relayed' | 'borrowed'): number => links.reduce((total, link) => total + link[name], 0)
  const relayed = sum('relayed')
  const failed = links.filter(({ problem }) => problem !== null).length
  return [
    `${sum('lent')} out, ${sum('borrowed')} in`,
    ...(relayed === 0 ? [] : [`${relayed} relayed`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
  ].join(', ')
}

const recordOf = ({ startedAtMs, leaseAgeMs, hostKey: host, ...node }: ClusterNode) => ({
  ...node,
  host,
  startedOn: isoTime(startedAtMs),
  leaseAgeSeconds: leaseAgeMs / 1000,
})

const drain = command({
  path: ['node', 'drain'],
  summary: 'Move the publishers and viewers of a server to others, and end it',
  detail: [
    'It takes nothing new, and `/readyz` answers 503. It stops as after SIGTERM, with exit status 0, when all have moved, at the',
    'latest after `server.drainSeconds`. Without another server it stops at once. SIGUSR2 does the same.',
  ].join('\n'),
  args: {
    id: textFlag('[ID]', 'The server, as `sluice cluster status` shows it. By default that of this data directory.'),
  },
  flags: { wait: toggleFlag('Return when the server has ended.') },
  examples: ['sluice node drain --data /var/lib/sluice --wait', 'sluice node drain 1Cv2nDq8PzUeZ5oYyZ3kQw --json'],
  run: (call) =>
    withApp(call, async ({ ctx, config }) => {
      const here = await nodeHere({ ctx, config })
      const id = call.args.id ?? here?.id
      if (id === undefined) return err(failure('unavailable', `no server runs on ${config.data.dir}`))
      const asked = await drainNode(ctx, cliActor, id)
      if (!asked.ok) return asked
      const pid = id === here?.id ? here.pid : null
      const isOver = call.flags.wait ? await ended(ctx, { id, pid }, waitMsOf(config)) : null
      const json = { node: id, ...(isOver === null ? {} : { ended: isOver }) }
      return ok({ json, text: textOf(id, isOver), exitCode: isOver === false ? 1 : 0 })
    }),
})

function textOf(id: string, isOver: boolean | null): string {
  if (isOver === null) return `Node ${id} drains. \`sluice cluster status\` shows it until it has ended.`
  return isOver ? `Node ${id} has ended.` : `Node ${id} has not ended in time; its log says why.`
}

type Opened = Pick<OpenedApp, 'ctx' | 'config'>

async function nodeHere({ ctx, config }: Opened) {
  const hostKey = hostKeyOf(config.data.dir)
  return (await ctx.store.read.nodes.list()).find((node) => node.hostKey === hostKey && isRunning(node.pid))
}

/** A stop gives requests, recordings and deliveries the grace, and waits briefly for the rest. */
const waitMsOf = ({ server: { drainSeconds, shutdownGraceSeconds } }: Config): number =>
  (drainSeconds + shutdownGraceSeconds + 30) * 1000

const LOOK_MS = 500

interface Ending {
  readonly id: string
  /** Its process, if it is on this machine. */
  readonly pid: number | null
}

/**
 * Waits until a node has removed itself, and its process has ended: until then it finishes recordings and deliveries, and has its
 * ports and directory. False: it still runs after `ms`.
 */
async function ended({ store, clock }: OpenedApp['ctx'], { id, pid }: Ending, ms: number): Promise<boolean> {
  const untilMs = clock.monotonic() + ms
  for (;;) {
    const nodes = await store.read.nodes.list()
    if (nodes.every((node) => node.id !== id) && (pid === null || !isRunning(pid))) return true
    if (clock.monotonic() >= untilMs) return false
    await setTimeout(LOOK_MS)
  }
}

export const clusterCommands = [status, drain]
