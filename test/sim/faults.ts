import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** A fault that is put into a source. */
export interface Fault {
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  /** Stands in the file once. */
  readonly find: string
  /** Takes its place. */
  readonly put: string
  /** Of the world that finds it. */
  readonly seed: number
  /** What the world says, in one way or another: one fault breaks several promises. */
  readonly says: RegExp
  /** One of some hundred worlds finds it, so only `npm run sim -- --faults` tries it. */
  readonly isSeldom?: boolean
}

/**
 * Faults that the worlds have to find, one at least of each part of what they run. If sources change, other seeds find them:
 * `npm run sim -- --faults` looks for the next one, and says which to write here.
 */
export const FAULTS: readonly Fault[] = [
  {
    name: 'a node that was given up counts bytes again under its new id',
    file: 'src/commands/nodes/servingNode.ts',
    find: 'this.#ctx.sessions.usage.restart()',
    put: '',
    seed: 20,
    says: /bytes are counted/,
    isSeldom: true,
  },
  {
    name: 'the feed of another node stays in memory when it is over',
    file: 'src/media/feedsOnAir.ts',
    find: 'if (those === undefined) this.#remote.delete(key)',
    put: 'if (those === undefined) continue',
    seed: 1,
    says: /a node knows feeds/,
  },
  {
    name: 'seats of viewers are taken and not counted',
    file: 'src/store/tables/viewerSeats.ts',
    find: 'for (const holder of added) await this.executor.run(addOne, { holder })',
    put: '',
    seed: 22,
    says: /viewers at once/,
  },
  {
    name: 'ends of viewers keep their seats',
    file: 'src/commands/sessions/close.ts',
    find: 'if (holding.length > 0) await tx.viewerSeats.free',
    put: 'if (holding.length > 1000) await tx.viewerSeats.free',
    seed: 2,
    says: /seats are taken/,
  },
  {
    name: 'a full node takes viewers',
    file: 'src/commands/access/loadReached.ts',
    find: "return step === null ? null : { code: 'node_full', step }",
    put: 'return null',
    seed: 5,
    says: /full before/,
  },
  {
    name: 'a draining node takes publishers',
    file: 'src/commands/sessions/admit.ts',
    find: "if (ctx.sessions.drain !== null && attempt.action === 'publish') return refuseDraining(ctx)",
    put: '',
    seed: 1,
    says: /drained before/,
  },
  {
    name: 'a node that was given up goes on with its sessions',
    file: 'src/commands/nodes/servingNode.ts',
    find: "    await endAll(this.#ctx, 'lost')\n",
    put: '',
    seed: 25,
    says: /still connected|is on the air/,
  },
  {
    name: 'a dead node keeps its feeds',
    file: 'src/commands/nodes/servingNode.ts',
    find: 'const feeds = await tx.feeds.endOfNode(node, atMs)',
    put: 'const feeds: EndedFeed[] = []',
    seed: 32,
    says: /an end is missing in feeds|another one or none is on the air/,
  },
  {
    name: 'a refreshed token keeps its sessions',
    file: 'src/commands/sessions/revoke.ts',
    find: "if (!isBeforeLock && token.hashHex !== entry.tokenHash) return 'token_refreshed'",
    put: '',
    seed: 2,
    says: /outlives its token/,
  },
  {
    name: 'a node shows a feed that another one has ended',
    file: 'src/commands/sessions/spares.ts',
    find: '  for (const feed of over) dropOutranked(ctx, feed)\n',
    put: '',
    seed: 1,
    says: /a node shows feeds|is on the air/,
  },
  {
    name: 'a token that could not be checked stays so when its last session has ended',
    file: 'src/commands/sessions/revoke.ts',
    find: '    ctx.sessions.unchecked.delete(tokenId)\n    return []',
    put: '    return []',
    seed: 740,
    says: /at another node get no media/,
  },
  {
    name: 'a spare whose take-over lost its answer waits for ever',
    file: 'src/commands/sessions/goLive.ts',
    find: 'if (own) return { feed: own, replaced: [], outranked: [] }',
    put: 'if (own) return undefined',
    seed: 8239,
    says: /a node shows feeds|is on the air/,
    isSeldom: true,
  },
  {
    name: 'a spare of the same priority stays at another node',
    file: 'src/commands/sessions/goLive.ts',
    find: 'const replaced = await tx.sessions.replaceSpares(session, standing.priority)',
    put: 'const replaced: string[] = []',
    seed: 2,
    says: /was replaced/,
  },
  {
    name: 'a target is dialled for a feed that ended meanwhile',
    file: 'src/services/restreams.ts',
    find: 'if (this.#feeds.get(running.feed.feedId) !== running) return',
    put: '',
    seed: 11,
    says: /a feed that is over/,
  },
  {
    name: 'a lost connection to a target does not end',
    file: 'src/core/restream/driver.ts',
    find: '    attempt.end()\n',
    put: '',
    seed: 1,
    says: /gets a feed (that is over|twice)/,
  },
  {
    name: 'what targets took is counted again each second',
    file: 'src/services/restreams.ts',
    find: '    this.#counted = now\n',
    put: '',
    seed: 1,
    says: /are counted for targets/,
  },
  {
    name: 'secured media comes from other nodes while the database is silent',
    file: 'src/services/cascade.ts',
    find: 'if (this.#isStale && one.isSecured) one.end()',
    put: '',
    seed: 31,
    says: /secured media/,
  },
  {
    name: 'a node that stops keeps the media of others while it waits for the database',
    file: 'src/services/cascade.ts',
    find: '    this.#parts = null\n    for (const one of this.#all()) one.end()\n',
    put: '',
    seed: 8430,
    says: /secured media/,
    isSeldom: true,
  },
  {
    name: 'a node borrows on from one that has the stream no more',
    file: 'src/services/cascade.ts',
    find: 'if (together.length === 0 ||',
    put: 'if (',
    seed: 2,
    says: /is not on the air any more/,
  },
  {
    name: 'a request of a node has an effect twice',
    file: 'src/services/lentRooms.ts',
    find: "if (this.#untilMs.has(nonce)) return 'used'",
    put: '',
    seed: 6,
    says: /has an effect twice/,
  },
]

/** The text of the file with the fault. @throws if its place is not there, or twice */
export function withFault(text: string, { name, file, find, put }: Fault): string {
  const parts = text.split(find)
  if (parts.length !== 2) throw new Error(`${parts.length - 1} places in ${file} for the fault "${name}"`)
  return parts.join(put)
}

/** Puts the fault into the source when this process loads it. No file changes. */
export function putIn(fault: Fault): void {
  const file = new URL(`../../${fault.file}`, import.meta.url)
  const url = file.href
  registerHooks({
    load(loading, context, nextLoad) {
      const loaded = nextLoad(loading, context)
      return loading === url ? { ...loaded, source: withFault(readFileSync(file, 'utf8'), fault) } : loaded
    },
  })
}
