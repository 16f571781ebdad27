import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const library = JSON.stringify(new URL('../../scripts/build-web.mjs', import.meta.url).href)

beforeAll(() => void mkdirSync(join(root, 'build'), { recursive: true }))

/**
 * Builds `built` out of `source`, a copy with an old date, with programs of Node. Returns what was printed.
 *
 * @param builtAt of what is there already
 */
async function build(programs: readonly string[], builtAt: Date): Promise<{ built: string; warnings: string }> {
  const folder = mkdtempSync(join(root, 'build/test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [source, built] = ['source', 'built'].map((name) => join(folder, name)) as [string, string]
  for (const file of [source, built]) writeFileSync(file, 'before')
  utimesSync(source, 0, 0)
  utimesSync(built, builtAt, builtAt)
  const path = (name: string): string => `build/${basename(folder)}/${name}`
  const options = {
    name: 'example',
    built: path('built'),
    sources: [path('source')],
    steps: programs.map((program) => ['-e', program.replaceAll('BUILT', JSON.stringify(built))]),
    without: 'nothing answers',
  }
  const script = `import { buildWeb } from ${library}; await buildWeb(${JSON.stringify(options)})`
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return { built: readFileSync(built, 'utf8'), warnings: stderr }
}

/** Before every change of the source, and after all of them. */
const [BEFORE, AFTER] = [new Date(1), new Date('2100-01-01')]

const ADD = `require('fs').appendFileSync(BUILT, ' step')`

test('what is older than its sources is built, step by step', async () => {
  expect(await build([ADD, ADD], BEFORE)).toEqual({ built: 'before step step', warnings: '' })
})

test('what is newer than its sources is left alone', async () => {
  expect(await build([ADD], AFTER)).toEqual({ built: 'before', warnings: '' })
})

test('a step that fails ends the build with the command that repeats it, and what was built before stays', async () => {
  const { built, warnings } = await build(['process.exit(1)', ADD], BEFORE)
  expect(built).toBe('before')
  expect(warnings).toContain('setup: the example could not be built: npm run build:example')
})
