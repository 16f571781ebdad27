import { readFileSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { describe, expect, test } from 'vitest'
import gate from '../vitest.config.ts'
import addons from './addons/vitest.config.ts'
import { globsOf, LANE_NAMES, LANES } from './lanes.ts'
import packaging from './packaging/vitest.config.ts'
import { AREAS, lanesOf } from './tidy/areas.ts'
import { circles } from './tidy/circles.ts'
import { shortLimits } from './tidy/limits.ts'
import { sharedNames } from './tidy/names.ts'
import * as rules from './tidy/rules.ts'
import { siblingCircles } from './tidy/siblings.ts'
import { type Module, parse, readSources } from './tidy/source.ts'
import { unusedClasses } from './tidy/styles.ts'
import { unusedExports } from './tidy/unused.ts'
import { fixedWaits, measuredTimes } from './tidy/waits.ts'
import { browserWallsJumped, wallsJumped, wallsMarkdown } from './tidy/walls.ts'
import { isRewritten, retiredNames, retiredPaths, stiltedCode, stiltedPage } from './tidy/words.ts'

const code = /\.(ts|tsx|js|mjs|css)$/
const modules = readSources(['src'], /\.ts$/).map(parse)
const readers = readSources(['test', 'scripts', 'bench'], /\.ts$/).map(parse)
const tests = readers.filter(({ path }) => path.startsWith('test/'))
/** What runs in browsers: the client library, the player and the dashboard on top of it. */
const browserModules = readSources(['web'], /(?<!\.config)\.tsx?$/).map(parse)
const written = readSources(['.'], /\.(ts|js|mjs|md|yaml|yml|sql|html|css|tsx|sh)$|^\.ci\//)
const ours = written.filter(({ path }) => code.test(path))

const within = (...rooms: string[]): Module[] =>
  modules.filter(({ path }) => rooms.some((room) => path.startsWith(`src/${room}/`)))
/**
 * The only outbound HTTP and its sockets, and the doctor, which requests `/healthz` of this machine. The operator names the
 * authority of ACME.
 */
const EGRESS = [
  'src/net/egress.ts',
  'src/net/dial.ts',
  'src/net/acmeTransport.ts',
  'src/net/nodeFetch.ts',
  'src/cli/doctorPort.ts',
  'src/cli/cacheLog/reporter.ts',
  'src/edge/http/hls/spliceProof.ts',
]

/** The process file system, a shell, and directories of Unix, in code. */
const NOT_EVERYWHERE = /(?<!`)['"`](\/proc\/|\/tmp\b|(\/bin\/)?sh['"])|\/dev\/null/
/** The guard around ffmpeg is left out on Windows; the others report nothing where the files are missing. */
const LINUX_OR_UNIX = [
  'src/base/openFiles.ts',
  'src/base/processors.ts',
  'src/cli/doctorDisk.ts',
  'src/media/ffmpeg/ffmpeg.ts',
]

/** A command and its table share a verb; every migration has an `up`. */
const isShared = (paths: readonly string[]): boolean =>
  paths.every((path) => path.startsWith('src/store/migrations/')) ||
  (paths.length === 2 &&
    paths.some((path) => path.startsWith('src/commands/')) &&
    paths.some((path) => path.startsWith('src/store/tables/')))

/** A project that is written out. */
const projectOf = (project: unknown): { include?: string[] } | undefined =>
  (project as { test?: { include?: string[] } }).test

describe('the house', () => {
  test('no module imports through a wall', () => {
    expect(modules.flatMap(wallsJumped)).toEqual([])
  })

  test('no modules import one another in a circle', () => {
    expect(circles(modules)).toEqual([])
    expect(circles(browserModules)).toEqual([])
  })

  test('no folders beside each other import one another both ways', () => {
    expect(siblingCircles(modules)).toEqual([])
  })

  test('what runs in browsers imports nothing of the server, and the client library nothing but itself', () => {
    expect(browserModules.flatMap(browserWallsJumped)).toEqual([])
  })

  test('the table of walls in ARCHITECTURE.md matches the test', () => {
    const page = written.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? ''
    expect(page).toContain(`<!-- walls: generated -->\n\n${wallsMarkdown()}\n<!-- walls: end -->`)
  })

  test('a name is exported by one file', () => {
    expect([...sharedNames(modules)].filter(([, paths]) => !isShared(paths))).toEqual([])
  })

  test('each file of tests belongs to `npm test` or to a lane', () => {
    const projects = [gate, addons, packaging].flatMap(({ test: all }) => [
      all,
      ...(all?.projects ?? []).map(projectOf),
    ])
    const globs = projects.flatMap((project) => project?.include ?? [])
    const tests = readSources(['test'], /\.test\.ts$/).map(({ path }) => path)
    expect(tests.filter((path) => globs.every((glob) => !matchesGlob(path, glob)))).toEqual([])
  })

  test('each folder and file of src has its lanes of tests, and each area exists', () => {
    const rooms = new Set(modules.map(({ path }) => path.replace(/^(src\/[^/]+\/?).*/, '$1')))
    expect([...rooms].filter((room) => AREAS[room] === undefined)).toEqual([])
    const paths = readSources(['.'], /./).map(({ path }) => path)
    const areas = Object.keys(AREAS).filter((area) => area !== '.ci/passed')
    expect(areas.filter((area) => !paths.some((path) => path.startsWith(area)))).toEqual([])
  })

  test('each lane of tests has a command, and each of its globs matches a file', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      scripts: Record<string, string>
    }
    const paths = readSources(['test'], /\.test\.ts$/).map(({ path }) => path)
    for (const name of LANE_NAMES) {
      expect(scripts[`test:${name}`]).toBe(
        `node scripts/setup.mjs --for=${LANES[name].needs} && node scripts/lane.ts ${name}`,
      )
      for (const glob of globsOf(name))
        expect(
          paths.some((path) => matchesGlob(path, glob)),
          glob,
        ).toBe(true)
    }
  })

  test('each suite that npm test runs on SQLite alone runs on PostgreSQL in a lane', () => {
    const globs = (['postgres', 'crash', 'streams'] as const).flatMap(globsOf)
    const suites = readSources(['test'], /\.test\.ts$/).filter(({ text }) => /import {[^}]*\btestedStores\b/.test(text))
    const left = suites.filter(({ path }) => !globs.some((glob) => matchesGlob(path, glob)))
    expect(left.map(({ path }) => path)).toEqual([])
  })

  test('core and commands take time and randomness as arguments', () => {
    expect(within('core', 'commands').flatMap(rules.impurities)).toEqual([])
  })

  test('only the guarded network calls out', () => {
    expect(modules.filter(({ path }) => !EGRESS.includes(path)).flatMap(rules.callsOut)).toEqual([])
  })

  test('only the named files use what not every system has, and each works without it', () => {
    const uses = written
      .filter(({ path }) => /^(src|bin)\/.*\.(ts|js)$/.test(path))
      .filter(({ text }) => NOT_EVERYWHERE.test(text))
    expect(uses.map(({ path }) => path).toSorted()).toEqual(LINUX_OR_UNIX)
    expect(["spawn('sh')", "readFileSync('/proc/stat')", "'/tmp'"].every((text) => NOT_EVERYWHERE.test(text))).toBe(
      true,
    )
  })

  test('no code uses any', () => {
    expect([...modules, ...browserModules, ...readers].flatMap(rules.anys)).toEqual([])
  })

  test('no pattern takes a time that grows with the square of its text', () => {
    expect(modules.flatMap(rules.slowPatterns)).toEqual([])
  })

  test('every export is used', () => {
    // Folders are built before app.ts connects them. Until then many exports have no importer yet.
    const joined = modules.some(({ path }) => path === 'src/app/app.ts')
    expect(unusedExports(joined ? modules : [], readers)).toEqual([])
    expect(unusedExports(browserModules, readers)).toEqual([])
  })

  /** What writes pages, for folders of web/ that have none. */
  const WRITERS: Readonly<Record<string, readonly string[]>> = {
    api: ['src/edge/http/docs', 'scripts/docs'],
    docs: ['scripts/docs'],
  }

  test('each class of a style sheet is one that an element can have', () => {
    const isWords = (path: string): boolean => path.startsWith('web/dashboard/src/words/')
    for (const folder of ['api', 'docs', 'dashboard', 'demo', 'player', 'trust']) {
      const folders = [`web/${folder}`, ...(WRITERS[folder] ?? [])]
      const files = readSources(folders, /\.(ts|tsx|js|html|css)$/).filter(({ path }) => !isWords(path))
      const { sheets = [], others = [] } = Object.groupBy(files, ({ path }) =>
        path.endsWith('.css') ? 'sheets' : 'others',
      )
      expect(sheets, folder).not.toEqual([])
      expect(unusedClasses(sheets, others)).toEqual([])
    }
  })

  test('the log has errors under one key', () => {
    expect(modules.flatMap(rules.errorKeys)).toEqual([])
  })

  test('one place writes events for webhooks', () => {
    const writers = modules.filter(
      ({ path, text }) => path.startsWith('src/commands/') && text.includes('outbox.append'),
    )
    expect(writers.map(({ path }) => path)).toEqual(['src/commands/emit.ts'])
  })

  test('no test and no wait has a limit that only a slow machine reaches', () => {
    expect(tests.flatMap(shortLimits)).toEqual([])
  })

  test('no test waits for a fixed time', () => {
    expect(tests.flatMap(fixedWaits)).toEqual([])
  })

  test('no test measures a duration', () => {
    expect(tests.flatMap(measuredTimes)).toEqual([])
  })

  test('functions, files and lines have a readable length', () => {
    expect([...modules, ...browserModules].flatMap(rules.longFunctions)).toEqual([])
    // A translation of the dashboard is one file.
    const isTranslation = (path: string): boolean => path.startsWith('web/dashboard/src/words/')
    expect(ours.filter(({ path }) => !isTranslation(path)).flatMap(rules.longFiles)).toEqual([])
    expect(ours.flatMap(rules.longLines)).toEqual([])
  })

  test('no file contains paths of one machine or postponed work', () => {
    expect(written.flatMap(rules.machinePaths)).toEqual([])
    expect(written.flatMap(rules.putOff)).toEqual([])
  })

  test('no name, folder or file has a word that was retired', () => {
    expect([...modules, ...browserModules, ...readers].flatMap(retiredNames)).toEqual([])
    expect(readSources(['src', 'test', 'docs'], /./).flatMap(retiredPaths)).toEqual([])
  })

  test('what was rewritten stays in plain English', () => {
    expect([...modules, ...browserModules, ...readers].filter(isRewritten).flatMap(stiltedCode)).toEqual([])
    expect(
      written
        .filter(({ path }) => /\.(md|yaml)$/.test(path))
        .filter(isRewritten)
        .flatMap(stiltedPage),
    ).toEqual([])
  })
})

/** The rules themselves: each must detect what it forbids. */
describe('the rules see', () => {
  const module = (path: string, text: string) => parse({ path, text })

  test('a circle, also of types, without the modules that only import it', () => {
    const three = [
      module('src/core/a.ts', "import type { B } from './b.ts'"),
      module('src/core/b.ts', "export type { A } from './a.ts'\nimport './c.ts'"),
      module('src/core/c.ts', ''),
    ]
    expect(circles(three)).toEqual([['src/core/a.ts', 'src/core/b.ts']])
    expect(circles(three.slice(1))).toEqual([])
  })

  test('folders beside each other that import one another, also by types and from deeper folders', () => {
    const there = module('src/core/a/deep/one.ts', "import { b } from '../../b/two.ts'")
    const back = module('src/core/b/two.ts', "import type { C } from '../a/three.ts'")
    const beside = module('src/core/c.ts', "import './a/three.ts'\nimport './b/two.ts'")
    expect(siblingCircles([there, back, beside])).toEqual([
      'src/core/a <-> src/core/b: src/core/a/deep/one.ts imports src/core/b/two.ts; src/core/b/two.ts imports src/core/a/three.ts',
    ])
    expect(siblingCircles([there, beside, module('src/core/a/three.ts', "import '../c.ts'")])).toEqual([])
  })

  test('a name that two files export, unless one only re-exports it', () => {
    const one = module('src/core/a.ts', 'export const x = 1\nexport interface Y {}')
    const passing = module('src/core/b.ts', "export { x } from './a.ts'")
    expect(sharedNames([one, passing])).toEqual(new Map())
    const two = module('src/core/b.ts', 'export function x() {}\nexport type Y = 1')
    const both = ['src/core/a.ts', 'src/core/b.ts']
    expect(sharedNames([one, two])).toEqual(
      new Map([
        ['x', both],
        ['Y', both],
      ]),
    )
  })

  test('a class that no element has, unless a string or a template can name it', () => {
    const part = {
      path: 'a.tsx',
      text: "const Part = ({ look }) => <b class={`st w${look}`} data-s={isBusy ? 'busy now' : ''} />",
    }
    const unused = (text: string): string[] => unusedClasses([{ path: 'a.css', text }], [part])
    expect(
      unused('/* .gone */ .st:has(.w1) > .now { margin: 0.5rem } @media (width > 1px) { .busy { top: .5em } }'),
    ).toEqual([])
    expect(unused('.st,\n.wide .gone { top: 0 }')).toEqual([
      'a.css:2: no element has the class .wide',
      'a.css:2: no element has the class .gone',
    ])
    expect(
      unusedClasses([{ path: 'a.css', text: '.a .b { top: 0 }' }], [{ path: 'a.html', text: '<p class="c a">b' }]),
    ).toEqual(['a.css:1: no element has the class .b'])
  })

  test('the lanes of tests that a change concerns, and all of them where nothing says which', () => {
    expect(lanesOf(['docs/README.md'])).toEqual(['docs'])
    expect(lanesOf(['src/core/hls/cutter.ts', 'CHANGELOG.md'])).toEqual(['streams', 'browser', 'interop'])
    expect(lanesOf(['test/e2e/turn.test.ts', 'test/crash/store.test.ts'])).toEqual(['crash', 'interop'])
    expect(lanesOf(['test/core/access/decide.test.ts'])).toEqual([])
    expect(lanesOf(['attic/a.ts'])).toEqual(LANE_NAMES)
  })

  test.each([
    ['a clock', rules.impurities, 'const a = Date.now()'],
    ['a clock behind a name', rules.impurities, 'const now = Date.now'],
    ['a date of now', rules.impurities, 'const a = new Date()'],
    ['chance', rules.impurities, 'const a = Math.random()'],
    ['a timer', rules.impurities, 'setTimeout(f, 1)'],
    ['the process', rules.impurities, 'const a = process.env'],
    ['fetch', rules.callsOut, "await fetch('http://a')"],
    ['a client of node:http', rules.callsOut, "import { request } from 'node:http'"],
    ['a client by member', rules.callsOut, "import net from 'node:net'\nnet.connect(1)"],
    ['undici', rules.callsOut, "import { Agent } from 'undici'"],
    ['an error under another key', rules.errorKeys, "log.warn({ error }, 'x')"],
    ['the text of an error', rules.errorKeys, "ctx.log.error({ reason: String(error) }, 'x')"],
    ['the message of an error', rules.errorKeys, "this.#log.warn({ id, reason: error.message }, 'x')"],
    ['any', rules.anys, 'const a: any[] = []'],
    ['a pattern for the end of a text', rules.slowPatterns, "path.replace(/[/\\s]+$/, '')"],
    ['one of several', rules.slowPatterns, "path.replaceAll(/^\\/+|\\/+$/g, '')"],
    ['a pattern that begins with blanks', rules.slowPatterns, 'text.split(/\\s*;/)'],
    ['a long function', rules.longFunctions, `const a = () => {${'\n'.repeat(71)}}`],
    ['a long file', rules.longFiles, '\n'.repeat(401)],
    ['a long line', rules.longLines, `// ${'x'.repeat(150)}`],
    ['a short limit of a test', shortLimits, "test('a', run, 20_000)"],
    ['one of many tests', shortLimits, "test.skipIf(no).each([1])('a', { timeout: 30_000 }, run)"],
    ['one by the number of rounds', shortLimits, "test('a', run, ROUNDS * 4_000)"],
    ['one in a constant', shortLimits, 'const SOON = { timeout: 2000 }\nexpect.poll(found, { interval: 1, ...SOON })'],
    ['the second of vitest', shortLimits, 'vi.waitFor(found)'],
    ['a machine path', rules.machinePaths, ['// /', 'home/me/a'].join('')],
    ['work put off', rules.putOff, ['// TO', 'DO later'].join('')],
  ])('%s', (_, rule, text) => {
    expect(rule(module('src/core/a.ts', text))).not.toEqual([])
  })

  test.each([
    ['a date of a time', rules.impurities, 'const a = new Date(5)'],
    ['names like globals', rules.impurities, 'const a = job.process({ process: 1, crypto: 2 })'],
    ['a server', rules.callsOut, "import { createServer } from 'node:http'"],
    ['an error in the log', rules.errorKeys, "log.warn({ err: error, problem: failure.message, reason }, 'x')"],
    ['a long limit of a test', shortLimits, "test('a', run)\ntest('b', run, 240_000)\nvi.waitFor(run, 30_000)"],
    ['other numbers', shortLimits, "test.each([1, 2])('%d', run)\nsetTimeout(run, 20)\nrun(a, { timeout: 2 })"],
    ['a route', rules.machinePaths, "const a = 'http://host/root/a'"],
  ])('nothing wrong in %s', (_, rule, text) => {
    expect(rule(module('src/core/a.ts', text))).toEqual([])
  })

  test('an export without a use', () => {
    const maker = module('src/base/a.ts', 'export const used = 1, unused = 2\nexport type T = 1')
    const reader = module('src/base/b.ts', "import { used } from './a.ts'")
    expect(unusedExports([maker], [reader])).toEqual(['src/base/a.ts:1: unused is exported but unused'])
  })
})
