import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredToken, TokenListQuery, Tx } from '../../src/store/store.ts'
import { TOKEN_STATES } from '../../src/core/tokens/types.ts'
import { ending, insert, newAccount, newSession, newToken } from './store.samples.ts'
import type { Stores } from './store.ts'

/** A model of the list, as plain as possible. */
function expectedPage(tokens: Modelled[], query: TokenListQuery): number[] {
  const key = (token: Modelled) => {
    if (query.sortBy === 'Name') return Buffer.from(token.label)
    return query.sortBy === 'AddedOn' ? token.addedAtMs : (token.lastUsedAtMs ?? 0)
  }
  const compare = (a: Modelled, b: Modelled) => {
    const [x, y] = [key(a), key(b)]
    const order = Buffer.isBuffer(x) ? Buffer.compare(x, y as Buffer) : x - (y as number)
    return (order || a.id - b.id) * (query.descending ? -1 : 1)
  }
  const matching = tokens
    .filter((token) => token.kind === query.kind && isMatch(token, query.match) && passes(token, query.only))
    .sort(compare)
  return matching.slice(query.offset, query.offset + query.limit).map((token) => token.id)
}

type Modelled = StoredToken & { isLive: boolean }

const NOW = 1_000

function passes({ isActive, isLive, expiresAtMs }: Modelled, only: TokenListQuery['only']): boolean {
  const expires = expiresAtMs ?? Number.POSITIVE_INFINITY
  const lasts = expires > NOW
  const states = {
    live: isLive,
    ready: isActive && lasts && !isLive,
    expiring: isActive && lasts && expires <= NOW + 7 * 86_400_000,
    off: !isActive && lasts,
    expired: !lasts,
  }
  const before = only?.expiresBeforeMs
  return (only?.state === undefined || states[only.state]) && (before === undefined || expires < before)
}

function isMatch(token: StoredToken, match: TokenListQuery['match']): boolean {
  if (!match) return true
  const lower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const has = (text: string) => lower(text).includes(lower(match.text))
  if (token.streams.some((entry) => entry.isRegex)) return false
  const inName = has(token.label)
  const inStream = token.streams.some((entry) => has(entry.streamName))
  return { TokenName: inName, StreamName: inStream, TokenOrStreamName: inName || inStream }[match.in]
}

// Few characters, so that ties and matches happen, with wildcards of `like` and letters beyond ASCII.
const word = fc.string({
  unit: fc.constantFrom('a', 'A', 'b', '%', '_', '\\', 'é', 'É', '🎥'),
  minLength: 1,
  maxLength: 3,
})

const anyTokens = fc.array(
  fc.record({
    label: word,
    kind: fc.constantFrom('publish' as const, 'publish' as const, 'subscribe' as const),
    addedAtMs: fc.integer({ min: 1, max: 4 }),
    isActive: fc.nat(3).map((n) => n > 0),
    expiresAtMs: fc.constantFrom(null, NOW - 1, NOW, NOW + 1, NOW + 7 * 86_400_000, NOW + 7 * 86_400_000 + 1),
    isLive: fc.nat(3).map((n) => n === 0),
    usedAtMs: fc.nat(3),
    streams: fc.array(fc.record({ streamName: word, isRegex: fc.nat(4).map((n) => n === 0) }), {
      minLength: 1,
      maxLength: 2,
    }),
  }),
  { minLength: 1, maxLength: 30 },
)

const anyQuery = fc.record(
  {
    kind: fc.constantFrom('publish' as const, 'subscribe' as const),
    sortBy: fc.constantFrom('Name' as const, 'AddedOn' as const, 'LastUsedOn' as const),
    descending: fc.boolean(),
    offset: fc.nat(32),
    limit: fc.integer({ min: 1, max: 8 }),
    match: fc.record({
      text: word,
      in: fc.constantFrom('TokenName' as const, 'StreamName' as const, 'TokenOrStreamName' as const),
    }),
    only: fc.record(
      {
        nowMs: fc.constant(NOW),
        state: fc.constantFrom(...TOKEN_STATES),
        expiresBeforeMs: fc.constantFrom(NOW, NOW + 1, NOW + 2),
      },
      { requiredKeys: ['nowMs'] },
    ),
  },
  { requiredKeys: ['kind', 'sortBy', 'descending', 'offset', 'limit'] },
)

type Wanted = typeof anyTokens extends fc.Arbitrary<(infer T)[]> ? T : never

/** A token with a session of it, open or ended, and a last use. */
async function insertUsed(tx: Tx, accountId: string, wanted: Wanted): Promise<Modelled> {
  const { isLive, usedAtMs, ...over } = wanted
  const token = await tx.tokens.insert(newToken({ ...over, accountId }))
  const session = newSession({ accountId, tokenId: token.id })
  await tx.sessions.insert(session, 'n')
  if (!isLive) await tx.sessions.end([ending(session.id, NOW, 'left')])
  await tx.tokens.touch([{ id: token.id, atMs: usedAtMs }])
  return { ...token, isLive, ...(usedAtMs === 0 ? {} : { lastUsedAtMs: usedAtMs }) }
}

export function tokenListSuite(stores: Stores): void {
  describe('the list of tokens', () => {
    test('equals the model on every page, in both orders and directions, with and without a match', async () => {
      await fc.assert(
        fc.asyncProperty(anyTokens, fc.array(anyQuery, { minLength: 8, maxLength: 16 }), async (wanted, queries) => {
          const accountId = newAccount()
          const tokens = await stores.store.transaction(async (tx) => {
            const made: Modelled[] = []
            for (const each of wanted) made.push(await insertUsed(tx, accountId, each))
            return made
          })
          for (const query of queries) {
            const listQuery = { ...query, accountId }
            const page = await stores.store.read.tokens.list(listQuery)
            expect(page.map((token) => token.id)).toEqual(expectedPage(tokens, listQuery))
            const everything = { ...listQuery, offset: 0, limit: 1_000 }
            expect(await stores.store.read.tokens.count(listQuery)).toBe(expectedPage(tokens, everything).length)
          }
        }),
        { numRuns: 40 },
      )
    })

    test('pages from both ends cover the list without a gap or a repeat', async () => {
      const accountId = newAccount()
      for (let n = 0; n < 47; n += 1) await insert(stores.store, { accountId, label: `l${n % 7}`, addedAtMs: n })
      const seen: number[] = []
      for (let offset = 0; offset < 60; offset += 5) {
        const query = {
          accountId,
          kind: 'publish' as const,
          sortBy: 'Name' as const,
          descending: true,
          offset,
          limit: 5,
        }
        seen.push(...(await stores.store.read.tokens.list(query)).map((token) => token.id))
      }
      expect(seen).toHaveLength(47)
      expect(new Set(seen).size).toBe(47)
    })

    test('the count stays exact under concurrent creates and deletes, failed ones included', async () => {
      const accountId = newAccount()
      const count = () => stores.other.read.tokens.count({ accountId, kind: 'publish' })
      const tokens = await Promise.all(
        Array.from({ length: 40 }, (_, n) => insert(n % 2 ? stores.store : stores.other, { accountId })),
      )
      expect(await count()).toBe(40)
      const failing = stores.store.transaction(async (tx) => {
        await tx.tokens.insert(newToken({ accountId }))
        throw new Error('changed my mind')
      })
      const deletes = tokens.slice(0, 15).map((token) => stores.other.transaction((tx) => tx.tokens.delete(token)))
      await Promise.all([expect(failing).rejects.toThrow('changed my mind'), ...deletes])
      await stores.store.transaction((tx) => tx.tokens.delete(tokens[0]!))
      expect(await count()).toBe(25)
      expect(await stores.store.read.tokens.count({ accountId, kind: 'subscribe' })).toBe(0)
    })
  })
}
