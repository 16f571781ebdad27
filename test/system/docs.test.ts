import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Page, readPages } from '../support/markdown.ts'
import { endServers } from './cliProcess.ts'
import { difference } from './docsResults.ts'
import { type DocsServer, runPage, startDocsServer, stepsOf } from './docsRunner.ts'

/** A page that starts the server itself is run against a new one, as its reader would. */
const startsServer = ({ text }: Page): boolean => text.includes('npm ci && npm start')

const order = ['README.md', 'docs/tutorials/first-stream.md', 'docs/tutorials/', 'docs/guides/', 'docs/']
const rank = ({ path }: Page): number => order.findIndex((begin) => path.startsWith(begin))
const pages = readPages()
  .filter((page) => rank(page) >= 0 && stepsOf(page).length > 0)
  .toSorted((a, b) => rank(a) - rank(b))

/** One for each page that begins with a new server. All start at once, before the first page. */
let servers: DocsServer[] = []
beforeAll(async () => {
  servers = await Promise.all(pages.filter(startsServer).map(() => startDocsServer()))
})
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  endServers()
})

/** The server that the latest such page began with. */
const serverFor = (page: Page): DocsServer =>
  servers[pages.slice(0, pages.indexOf(page) + 1).filter(startsServer).length - 1]!

describe('every command and sample, with its stated result, in', () => {
  test.each(pages.map((page) => [page.path, page] as const))('%s', async (_path, page) => {
    await runPage(page, serverFor(page))
  })
})

describe('a result', () => {
  const json = (code: string) => ({ language: 'json', note: 'result', code, line: 1 })
  const text = (code: string) => ({ language: 'text', note: 'result', code, line: 1 })

  test('of JSON may leave members out, and nothing else may differ', () => {
    expect(difference(json('{"a":1,"b":"x…"}'), '{"a":1,"b":"xyz","c":2}')).toBe(null)
    expect(difference(json('{"a":2}'), '{"a":1}')).toContain('/a')
    expect(difference(json('{"a":[1]}'), '{"a":[1,2]}')).toContain('/a')
    expect(difference(json('{}'), 'no')).toContain('not JSON')
  })

  test('of text needs its lines in their order', () => {
    expect(difference(text('one\nthr…'), 'one\ntwo\nthree')).toBe(null)
    expect(difference(text('two\none'), 'one\ntwo')).toContain('"one"')
  })
})
