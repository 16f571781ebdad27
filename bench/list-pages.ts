/**
 * The token list with 100,000 tokens on SQLite: the last page must cost what the first one costs. Prints the medians
 * and their ratio for each order. A page that is filtered by state, with its total, must stay within a time.
 *
 *   node bench/list-pages.ts
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '../src/core/sessions/types.ts'
import { TOKEN_STATES, type TokenState } from '../src/core/tokens/types.ts'
import { openStore } from '../src/store/open.ts'
import type { TokenListQuery } from '../src/store/store.ts'
import { listToken } from './lib/listToken.ts'
import { median, report } from './lib/report.ts'

const TOKENS = 100_000
const PAGE = 20
const ROUNDS = 301
const TARGET = 1.5
const FILTERED_TARGET_MS = 100
const ACCOUNT = 'k9qd2x'
const NOW = 1_760_000_000_000

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const log = { info: () => undefined, warn: console.warn, error: console.error }
const store = await openStore({ url: join(folder, 'store.db'), log })
for (let made = 0; made < TOKENS; made += 1_000) {
  await store.transaction(async (tx) => {
    for (let n = made; n < made + 1_000; n += 1) await tx.tokens.insert(listToken(ACCOUNT, n, NOW))
  })
}

for (const sortBy of ['AddedOn', 'Name', 'LastUsedOn'] as const) await compare(sortBy)
await openSessions()
for (const state of TOKEN_STATES) await filtered(state)
await store.close()
rmSync(folder, { recursive: true })

/** Interleaved, so that other load on the machine affects both equally. */
async function compare(sortBy: TokenListQuery['sortBy']): Promise<void> {
  const times: Record<'first' | 'middle' | 'last', number[]> = { first: [], middle: [], last: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.first.push(await timePage(sortBy, 0))
    times.last.push(await timePage(sortBy, TOKENS - PAGE))
    if (round % 10 === 0) times.middle.push(await timePage(sortBy, TOKENS / 2))
  }
  const ratio = median(times.last) / median(times.first)
  const [first, middle, last] = [times.first, times.middle, times.last].map((list) => median(list).toFixed(0))
  report({
    what: `last page by ${sortBy} / first page`,
    ratio,
    target: `<= ${TARGET}`,
    met: ratio <= TARGET,
    detail: `page 1 ${first} us, last ${last} us, middle ${middle} us`,
  })
}

/** Microseconds for the page and its count. */
async function timePage(sortBy: TokenListQuery['sortBy'], offset: number): Promise<number> {
  const startedAt = performance.now()
  const list = { accountId: ACCOUNT, kind: 'publish' as const }
  const page = await store.read.tokens.list({ ...list, sortBy, descending: false, offset, limit: PAGE })
  const total = await store.read.tokens.count(list)
  const took = (performance.now() - startedAt) * 1000
  if (page.length !== PAGE || total !== TOKENS) throw new Error(`page of ${page.length}, total ${total}`)
  return took
}

/** One token in a hundred has a viewer. */
async function openSessions(): Promise<void> {
  await store.transaction(async (tx) => {
    for (let tokenId = 1; tokenId <= TOKENS; tokenId += 100) await tx.sessions.insert(newSession(tokenId), 'n')
  })
}

/** The slowest page of one state, with its total: the first, and the last, in any order. */
async function filtered(state: TokenState): Promise<void> {
  const list = { accountId: ACCOUNT, kind: 'publish' as const, only: { nowMs: NOW, state } }
  const total = await store.read.tokens.count(list)
  let slowest = 0
  for (const sortBy of ['AddedOn', 'Name', 'LastUsedOn'] as const) {
    for (const offset of [0, Math.max(0, total - PAGE)]) {
      const times: number[] = []
      for (let round = 0; round < 9; round += 1) {
        const startedAt = performance.now()
        await store.read.tokens.list({ ...list, sortBy, descending: false, offset, limit: PAGE })
        await store.read.tokens.count(list)
        times.push(performance.now() - startedAt)
      }
      slowest = Math.max(slowest, median(times))
    }
  }
  report({
    what: `slowest page of tokens in the state ${state}, of ${FILTERED_TARGET_MS} ms`,
    ratio: slowest / FILTERED_TARGET_MS,
    target: '<= 1',
    met: slowest <= FILTERED_TARGET_MS,
    detail: `${slowest.toFixed(1)} ms, ${total} tokens`,
  })
}

function newSession(tokenId: number): Session {
  return {
    id: randomBytes(11).toString('hex'),
    action: 'publish',
    protocol: 'whip',
    accountId: ACCOUNT,
    streamName: 'stage',
    sourceId: null,
    layer: null,
    tokenId,
    jti: null,
    trackingId: null,
    address: '192.0.2.1',
    origin: null,
    country: null,
    startedAtMs: NOW,
  }
}
