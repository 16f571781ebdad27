import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { credential } from '../support/channelsClient.ts'
import { type Browser, browserOf } from '../support/dashboard.ts'
import { testedStores } from '../support/place.ts'
import { freshDatabase } from '../support/postgres.ts'
import { VARIANT_LISTS } from './listsVariants.ts'
import { type Ground, type Item, LISTS, type ListCase, newGround, REGIONS } from './lists.ts'

/** The changes between two pages, and the limit of the next one. */
const step = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  added: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
  removed: fc.array(fc.nat(), { maxLength: 2 }),
})

const walk = fc.record({
  before: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 12 }),
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
})

const DASHBOARD = '/dashboard/api'
const RUNS = 10
const PAGES_MAX = 60

interface Page {
  data: Record<string, unknown>[]
  pagination: { hasMore: boolean; cursor?: string }
}

/** An account of its own, and how it asks. */
interface Asker {
  ground: Ground
  get(list: ListCase, query: Record<string, string>): Promise<{ status: number; text: string; json: Page }>
}

async function newAsker(sluice: RunningApp): Promise<Asker> {
  const { ctx } = sluice.app
  const account = await createAccount(ctx, 'lists')
  if (!account.ok) throw new Error('no account')
  const { id } = account.value
  const secret = await createSecret(ctx, cliActor(id), 'lists')
  if (!secret.ok) throw new Error('no secret')
  const basic = await credential(sluice, 'read', id)
  const ground = await newGround(ctx.store, id, (text) => ctx.sealer.seal(text, 'ingest:secret'))
  let browser: Promise<Browser> | undefined
  return {
    ground,
    get: async (list, query) => {
      const path = list.path(ground)
      const asked = `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query).toString()}`
      if (asked.startsWith(DASHBOARD)) {
        browser ??= browserOf({ ...sluice, accountId: id })
        return (await browser).call('GET', asked.slice(DASHBOARD.length))
      }
      const authorization = path.startsWith('/v2') ? basic : `Bearer ${secret.value.value}`
      return sluice.call('GET', asked, undefined, { authorization })
    },
  }
}

/** Compares parts of a key as the stores do: numbers, or text by its bytes. */
function compareParts(a: string | number | undefined, b: string | number | undefined): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
}

function comparing({ order }: ListCase): (a: Item, b: Item) => number {
  const sign = order === 'asc' ? 1 : -1
  return (a, b) => sign * (a.key.map((part, i) => compareParts(part, b.key[i])).find((n) => n !== 0) ?? 0)
}

/** Pages through a list while it changes, and compares every page with the expected items. */
async function pageAndCompare(
  list: ListCase,
  asker: Asker,
  { before, steps }: typeof walk extends fc.Arbitrary<infer W> ? W : never,
) {
  const { ground } = asker
  const compare = comparing(list)
  let items: Item[] = []
  // A list may already have items of the ground.
  const idsOf = ({ data }: Page): string[] => data.map((item) => String(item[list.idField ?? 'id']))
  for (const id of idsOf((await asker.get(list, { limit: '100' })).json)) items.push({ id, key: [0, id] })
  const add = async (atMs: number): Promise<void> => {
    const item = await list.add(ground, atMs)
    if (item) items.push(item)
  }
  for (const atMs of before) await add(atMs)
  const seen: string[] = []
  let throughout = new Set(items.map(({ id }) => id))
  let cursor: string | undefined
  let last: Item | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { limit, added, removed } = steps[page % steps.length] ?? { limit: 1, added: [], removed: [] }
    const answer = await asker.get(list, { limit: String(limit), ...(cursor === undefined ? {} : { cursor }) })
    const rest = items.toSorted(compare).filter((item) => !last || compare(item, last) > 0)
    expect(idsOf(answer.json)).toEqual(rest.slice(0, limit).map(({ id }) => id))
    expect(answer.json.pagination.hasMore).toBe(rest.length > limit)
    expect(typeof answer.json.pagination.cursor).toBe(rest.length > limit ? 'string' : 'undefined')
    seen.push(...idsOf(answer.json))
    if (!answer.json.pagination.hasMore) break
    last = rest[limit - 1]
    cursor = answer.json.pagination.cursor
    if (page < steps.length) {
      for (const atMs of added) await add(atMs)
      for (const index of list.remove ? removed : []) {
        const gone = items[index % items.length]
        // Items of the ground stay.
        if (!gone || gone.key[0] === 0) continue
        await list.remove?.(ground, gone.id)
        items = items.filter((item) => item !== gone)
        throughout = new Set([...throughout].filter((id) => id !== gone.id))
      }
    }
  }
  expect(new Set(seen).size).toBe(seen.length)
  expect(seen).toEqual(expect.arrayContaining([...throughout]))
}

describe.each(testedStores())('every list on %s', (engine) => {
  let sluice: RunningApp
  let drop: (() => Promise<void>) | undefined
  beforeAll(async () => {
    const database = engine === 'PostgreSQL' ? await freshDatabase() : undefined
    drop = database?.drop
    const channels = { regions: REGIONS }
    sluice = await runApp({ flags: database ? { channels, storage: { url: database.url } } : { channels } })
  })
  afterAll(async () => {
    await sluice.close()
    await drop?.()
  })

  test.each(Object.keys(LISTS))(
    '%s: each item that stays in the list is seen once, in order, while others come and go',
    async (name) => {
      const list = LISTS[name]
      if (!list) throw new Error(name)
      await fc.assert(
        fc.asyncProperty(walk, async (plan) => pageAndCompare(list, await newAsker(sluice), plan)),
        { numRuns: Object.hasOwn(VARIANT_LISTS, name) ? RUNS / 2 : RUNS },
      )
    },
  )

  test('a cursor is valid only unchanged, for its own list, account and filters', async () => {
    const [mine, theirs] = [await newAsker(sluice), await newAsker(sluice)]
    const cursors = new Map<string, string>()
    for (const [name, list] of Object.entries(LISTS)) {
      for (const atMs of [1, 2, 3]) await list.add(mine.ground, atMs)
      const { cursor = '' } = (await mine.get(list, { limit: '1' })).json.pagination
      if (list.atMostOne) continue
      expect((await mine.get(list, { limit: '2', cursor })).status).toBe(200)
      cursors.set(name, cursor)
    }
    const refused = async (asker: Asker, list: ListCase, query: Record<string, string>) => {
      const { status, text } = await asker.get(list, query)
      expect([status, text]).toEqual([400, expect.stringContaining('invalid_cursor')])
    }
    for (const [name, cursor] of cursors) {
      const own = LISTS[name] as ListCase
      await refused(theirs, own, { cursor })
      for (const wrong of [cursor.slice(0, -1), `${cursor}A`, flipped(cursor), 'A'.repeat(cursor.length)]) {
        await refused(mine, own, { cursor: wrong })
      }
      for (const [other, list] of Object.entries(LISTS)) {
        if (other !== name && areNear(own.path(mine.ground), list.path(mine.ground)))
          await refused(mine, list, { cursor })
      }
    }
    const channels = cursors.get('channels') ?? ''
    await refused(mine, LISTS['channels'] as ListCase, { cursor: channels, search: 'a' })
  })

  test.each(['0', '101', '-1', '1.5', 'many', ''])('limit=%s is refused, not clamped', async (limit) => {
    const asker = await newAsker(sluice)
    for (const list of Object.values(LISTS)) {
      const { status, text } = await asker.get(list, { limit })
      expect([status, text]).toEqual([400, expect.stringContaining('limit')])
    }
  })
})

type Paths = [path: string, Record<string, Operation>][]

const pathsOf = (document: string): Paths =>
  Object.entries(JSON.parse(readFileSync(new URL(`../../api/${document}.openapi.json`, import.meta.url), 'utf8')).paths)

/** The addresses of all tested lists. */
function walkedUrls(): URL[] {
  const any = 'x'
  const ground = { channel: { id: any }, webhook: { id: any }, ingestId: any, engineId: any, distributionId: any }
  return Object.values(LISTS).map((list) => new URL(list.path(ground as unknown as Ground), 'http://sluice'))
}

const matchingPath = (path: string): RegExp => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '\\w+')}$`)

test('every list with a cursor is tested here, with each of its filters and orders', () => {
  const untested: string[] = []
  const urls = walkedUrls()
  for (const [path, { get }] of [...pathsOf('tokens'), ...pathsOf('channels')]) {
    const names = (get?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name)
    // The time of measurements chooses what rows have, and not rows.
    const filters = path.startsWith('/v2/monitoring/')
      ? []
      : names.filter((name) => !['limit', 'cursor'].includes(name))
    if (!names.includes('cursor')) continue
    const ofPath = urls.filter(({ pathname }) => matchingPath(path).test(pathname))
    if (ofPath.length === 0) untested.push(path)
    for (const name of filters)
      if (!ofPath.some(({ searchParams }) => searchParams.has(name))) untested.push(`${path}?${name}`)
  }
  expect(untested).toEqual([])
})

test('every list of the channels interface has a cursor', () => {
  const unpaged: string[] = []
  for (const [path, { get }] of pathsOf('channels')) {
    const answer = get?.responses['200']?.content?.['application/json']?.schema.properties
    if (answer?.data?.type !== 'array' || answer.pagination) continue
    // Reports have no pages; those that may be long are lists like the others. The occurrences of a scheduler are
    // computed, at most 400 of them, and are on no list.
    if (!path.includes('/analytics/') && !path.endsWith('/occurrences')) unpaged.push(path)
  }
  expect(unpaged).toEqual([])
})

interface Operation {
  parameters?: { name: string; in: string }[]
  responses: Record<
    string,
    { content?: Record<string, { schema: { properties?: Record<string, { type?: string }> } }> }
  >
}

/** Whether two paths are variants of one list. */
function areNear(a: string, b: string): boolean {
  const [left, right] = [a, b].map((path) => path.split('?', 1)[0])
  return left === right || !(a + b).includes('?')
}

/** With another character in the middle. */
function flipped(cursor: string): string {
  const at = Math.floor(cursor.length / 2)
  return `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`
}
