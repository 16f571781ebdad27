import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { parse } from '../src/cli/parse.ts'
import { allKeys } from '../src/config/schema.ts'
import { anchorsOf, blocksOf, linksOf, type Page, readPages } from './support/markdown.ts'
import { readSources } from './tidy/source.ts'

const repository = fileURLToPath(new URL('../', import.meta.url))
const pages = readPages()
const textOf = new Map(pages.map(({ path, text }) => [path, text]))

const keys = new Set(allKeys().map(([path]) => path))
const sections = new Set([...keys].flatMap((key) => [...key.matchAll(/\./g)].map(({ index }) => key.slice(0, index))))
const sources = readSources(['bench', 'scripts', 'src', 'test', 'web'], /\.tsx?$/).map(({ path }) => path)
const metrics = readSources(['src'], /\.ts$/)
  .map(({ text }) => text)
  .join('\n')

const readInterface = (name: string): { paths: Record<string, Record<string, unknown>> } =>
  JSON.parse(readFileSync(`${repository}api/${name}.openapi.json`, 'utf8'))

const operations = ['tokens', 'channels'].flatMap((name) => {
  const { paths } = readInterface(name)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    })),
  )
})

/** Of the two interfaces: media has no document, and a path that ends with / or … stands for those below it. */
function isUnknownOperation(name: string): boolean {
  const [, method, path = ''] = /^(GET|POST|PUT|PATCH|DELETE) (\/(?:api|v2)\/[^ ?]+)/.exec(name) ?? []
  if (method === undefined || /^\/api\/wh[ie]p\/|\/openapi\.json$|[/…]$/.test(path)) return false
  return !operations.some((one) => one.method === method && one.path.test(path))
}

/** Files, keys, metrics and operations that a page names as code, and that are not there. */
function unknownNames({ path, text }: Page): string[] {
  const named = [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name)
  return named.filter((name) => isUnknown(name)).map((name) => `${path}: ${name}`)
}

function isUnknown(name: string): boolean {
  if (isUnknownOperation(name)) return true
  if (/^(test|src|bench|scripts|native|web|api)\/[\w/.-]+$/.test(name)) return !existsSync(repository + name)
  // `access/decide.ts` is src/core/access/decide.ts; NAME stands for a name.
  if (/^[\w.-]+\/[\w/.-]+\.tsx?$/.test(name) && !name.includes('NAME')) {
    return sources.every((path) => !path.endsWith(`/${name}`))
  }
  // `log.warn` is an event too, `data.message` a field of one, and `sessions.ts` a file of a room.
  if (/^(?!log\.|data\.)[a-z]+(\.[a-zA-Z]+)+(?<!\.ts)$/.test(name) && sections.has(name.split('.')[0] ?? '')) {
    return !keys.has(name) && !sections.has(name)
  }
  const [metric] = name.match(/^sluice_[a-z_]+/) ?? []
  return metric !== undefined && !metrics.includes(`'${metric}'`)
}

/** All values of the fields of the token interface that may have this one, below a part of its document. */
function valuesWith(value: string, part: unknown = readInterface('tokens')): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { enum: values } = part as { enum?: unknown }
  if (Array.isArray(values)) return values.includes(value) ? (values as string[]) : []
  return Object.values(part).flatMap((each) => valuesWith(value, each))
}

/** What is wrong with a link of a page; null when it leads somewhere. */
function brokenLink(page: Page, link: string): string | null {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page.path : posix.join(posix.dirname(page.path), file)
  if (!existsSync(repository + target)) return `${page.path}: ${link}: there is no ${target}`
  const text = textOf.get(target)
  if (anchor === undefined || text === undefined) return null
  return anchorsOf(text).has(anchor) ? null : `${page.path}: ${link}: ${target} has no such heading`
}

/** What may stand behind the language of a block that is run. */
const NOTE = /^(no-run: \w.*|background( port \d+)?|\d{3}|saves \w+=\w+)?$/

describe('the documentation', () => {
  test('has no link that leads nowhere', () => {
    const broken = pages.flatMap((page) => linksOf(page.text).map((link) => brokenLink(page, link)))
    expect(broken.filter((each) => each !== null)).toEqual([])
  })

  test('has no page that docs/README.md does not list', () => {
    const listed = linksOf(textOf.get('docs/README.md') ?? '').map((link) => posix.join('docs', link))
    const missing = pages.map(({ path }) => path).filter((path) => /^docs\/.+\//.test(path) && !listed.includes(path))
    expect(missing).toEqual([])
  })

  test('names no file, configuration key, metric or operation that does not exist', () => {
    expect(pages.flatMap(unknownNames)).toEqual([])
  })

  test.each([
    ['reference/sessions.md', 'rtmp'],
    ['reference/sessions.md', 'view'],
    ['reference/logs.md', 'rtmp'],
    ['reference/logs.md', 'view'],
    ['reference/logs.md', 'kicked'],
    ['reference/errors.md', 'too_many_starts'],
    ['reference/api.md', 'serving'],
    ['reference/api.md', 'disk_low'],
    ['reference/recordings.md', 'processing'],
    ['guides/cameras.md', 'connecting'],
    ['guides/stream-health.md', 'link_slow'],
  ])('%s names every value that may stand for `%s`', (page, value) => {
    const values = new Set(valuesWith(value))
    expect(values.size).toBeGreaterThan(2)
    const text = textOf.get(`docs/${page}`) ?? ''
    expect([...values].filter((one) => !text.includes(`\`${one}\``))).toEqual([])
  })

  test('says of every package that Sluice depends on why, and of no other', () => {
    const [, tables = ''] = textOf.get('CONTRIBUTING.md')?.split(/^## Dependencies$/m) ?? []
    const rows = [...tables.matchAll(/^\| (?!Package|For dev)([^|-][^|]*) \|/gm)].map(([, names = '']) => names)
    const manifest = JSON.parse(readFileSync(`${repository}package.json`, 'utf8')) as Record<string, object>
    const kinds = ['dependencies', 'devDependencies', 'optionalDependencies']
    const packages = kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}))
    expect(rows.flatMap((names) => names.split(', ')).toSorted()).toEqual(packages.toSorted())
  })

  test('shows no figure first that the page of all figures does not have', () => {
    const [, table = ''] = textOf.get('README.md')?.split(/^## Five figures$/m) ?? []
    const figures = [...table.matchAll(/^\|[^|]+\| ([\d.]+(?: ms)?)/gm)].map(([, figure = '']) => figure)
    expect(figures).toHaveLength(5)
    const all = textOf.get('docs/reference/performance.md') ?? ''
    expect(figures.filter((figure) => !all.includes(figure))).toEqual([])
  })

  test('runs its commands, or says why not', () => {
    const silent = pages.flatMap(({ path, text }) =>
      blocksOf(text)
        .filter(({ language, note }) => ['bash', 'http'].includes(language) && !NOTE.test(note))
        .map(({ line, note }) => `${path}:${line}: ${note} is no note that the runner knows, or gives no reason`),
    )
    expect(silent).toEqual([])
    // `sh` is the synopsis of a command, which the generator writes.
    const unchecked = pages
      .filter(({ path }) => path.startsWith('docs/') && path !== 'docs/reference/command-line.md')
      .filter(({ text }) => blocksOf(text).some(({ language }) => /^(sh|shell|console|zsh)$/.test(language)))
    expect(unchecked.map(({ path }) => path)).toEqual([])
  })
})

/** The command lines of `sluice` in a block, as words; a word with a substitution is one. */
const sluiceLines = (code: string): string[][] =>
  [...code.replaceAll('\\\n', ' ').matchAll(/(?:^|-- )sluice ([^#|<>\n]*)/gm)].map(([, line = '']) =>
    (line.match(/(?:\$\([^)]*\)|"[^"]*"|\S)+/g) ?? []).map((word) => word.replaceAll('"', '')),
  )

describe('a command that is not run', () => {
  const left = pages.flatMap(({ path, text }) =>
    blocksOf(text)
      .filter(({ language, note }) => language === 'bash' && note.startsWith('no-run'))
      .map((block) => ({ at: `${path}:${block.line}`, ...block })),
  )

  test('is one that the command line knows', () => {
    const lines = left.flatMap(({ at, code }) => sluiceLines(code).map((words) => ({ at, words })))
    expect(lines.length).toBeGreaterThan(10)
    const unknown = lines.flatMap(({ at, words }) => {
      const parsed = parse(COMMANDS, words)
      return parsed.ok ? [] : [`${at}: ${words.join(' ')}: ${parsed.error.message}`]
    })
    expect(unknown).toEqual([])
    expect(parse(COMMANDS, sluiceLines('kubectl exec x -- sluice backup $(date +%F) --with-keys')[0] ?? []).ok).toBe(
      false,
    )
  })

  test('names only tests that exist', () => {
    const named = left.flatMap(({ note }) => note.match(/test\/[\w/.]+\.ts/g) ?? [])
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((path) => !existsSync(repository + path))).toEqual([])
  })
})

describe('the readers of pages see', () => {
  test('blocks with their notes', () => {
    const text =
      'a\n\n```bash no-run: why\nls\n```\n\n```json result\n{}\n```\n\n1. b\n\n   ```yaml\n   a:\n     b: 1\n   ```\n'
    expect(blocksOf(text)).toEqual([
      { language: 'bash', note: 'no-run: why', code: 'ls\n', line: 3 },
      { language: 'json', note: 'result', code: '{}\n', line: 7 },
      { language: 'yaml', note: '', code: 'a:\n  b: 1\n', line: 13 },
    ])
  })

  test('anchors as renderers make them, and no headings inside of blocks', () => {
    const text = '# A `b` (c), d\n## Same\n## Same\n```bash\n# no heading\n```\n'
    expect([...anchorsOf(text)]).toEqual(['a-b-c-d', 'same', 'same-1'])
  })

  test('links within the repository, but not those of code or to other hosts', () => {
    expect(linksOf('[a](b.md#c) `[d](e)` [f](https://example.com) [g](#h)')).toEqual(['b.md#c', '#h'])
  })

  test('names that do not exist', () => {
    const text =
      'a `server.port` b `server.prt` `test/nothing.test.ts` `sluice_sessions{action}` `sluice_nothing` `channel.x` ' +
      '`GET /api/webhooks` `GET /api/webhooks/list` `DELETE /api/sessions/{id}` `POST /api/whip/show` `GET /v2/monitoring/`'
    expect(unknownNames({ path: 'a.md', text })).toEqual([
      'a.md: server.prt',
      'a.md: test/nothing.test.ts',
      'a.md: sluice_nothing',
      'a.md: GET /api/webhooks',
    ])
  })

  test('a link to a page or heading that is missing', () => {
    const page = { path: 'docs/README.md', text: '# One' }
    expect(brokenLink(page, 'nothing.md')).toContain('there is no docs/nothing.md')
    expect(brokenLink(page, 'reference/errors.md#nothing')).toContain('no such heading')
    expect(brokenLink(page, '../README.md')).toBe(null)
  })
})
