import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/until.ts'

/** The plain JavaScript of bin/ has no types. */
const runtime = (await import(new URL('../../bin/runtime.js', import.meta.url).href)) as {
  isNewEnough(version: string): boolean
  findPinnedNode(): string | undefined
  isCurrent(directory: string): boolean
}

describe('the Node that runs Sluice', () => {
  test.each(['v24.15.0', '24.21.0', 'v25.0.0', 'v26.10.0'])('%s is supported', (version) => {
    expect(runtime.isNewEnough(version)).toBe(true)
  })

  test.each(['v24.14.9', 'v20.20.2', 'v9.99.0', '', 'nonsense'])('%s is not supported', (version) => {
    expect(runtime.isNewEnough(version)).toBe(false)
  })
})

describe('what is built runs', () => {
  /** A directory with a source, and what is built of it, later than all changes so far and before all that come. */
  async function built(): Promise<{ directory: string; source: string; program: string }> {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-test-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const [source, program] = [join(directory, 'src/core/one.ts'), join(directory, 'dist/main.js')]
    for (const path of ['src/core', 'dist']) mkdirSync(join(directory, path), { recursive: true })
    for (const path of [source, program]) writeFileSync(path, '')
    const builtMs = await laterThan(directory, statSync(source).ctimeMs)
    utimesSync(program, builtMs / 1000, builtMs / 1000)
    await laterThan(directory, builtMs)
    return { directory, source, program }
  }

  /** A time of the file system after this one: its clock moves in steps. */
  const laterThan = (directory: string, ms: number): Promise<number> =>
    until(() => {
      const probe = join(directory, 'probe')
      writeFileSync(probe, '')
      const { ctimeMs } = statSync(probe)
      return ctimeMs > ms + 1 ? ctimeMs : undefined
    })

  test('while no source has changed since', async () => {
    const { directory } = await built()
    expect(runtime.isCurrent(directory)).toBe(true)
  })

  test('not before it is built', async () => {
    const { directory, program } = await built()
    rmSync(program)
    expect(runtime.isCurrent(directory)).toBe(false)
  })

  test.each<[string, (source: string) => void]>([
    ['was written', (source) => writeFileSync(source, 'changed')],
    ['was copied with an old date', (source) => utimesSync(source, 0, 0)],
    ['was renamed', (source) => renameSync(source, `${source}x`)],
    ['was removed', (source) => rmSync(source)],
  ])('not when a source %s', async (_what, change) => {
    const { directory, source } = await built()
    change(source)
    expect(runtime.isCurrent(directory)).toBe(false)
  })

  test('in a package, which has no sources', async () => {
    const { directory } = await built()
    rmSync(join(directory, 'src'), { recursive: true })
    expect(runtime.isCurrent(directory)).toBe(true)
  })
})

test('a child stops gracefully when its parent is gone', async () => {
  const guard = new URL('../../bin/follow-parent.js', import.meta.url).href
  const script = "process.on('SIGTERM', () => process.exit(42)); setInterval(() => {}, 1000); console.log('up')"
  const child = spawn(process.execPath, ['--import', guard, '--eval', script], { stdio: ['ignore', 'pipe', 2, 'pipe'] })
  if (child.stdout === null) throw new Error('the child has no output')
  await once(child.stdout, 'data')
  // What the kernel does for a parent that was killed.
  child.stdio[3]?.destroy()
  expect(await once(child, 'exit')).toEqual([42, null])
})

test('a thread that ends leaves the child its pipe to the parent', async () => {
  const guard = new URL('../../bin/follow-parent.js', import.meta.url).href
  const script = `const { Worker } = require('node:worker_threads')
    new Worker(new URL('data:text/javascript,')).on('exit', () => require('node:fs').fstatSync(3))`
  const child = spawn(process.execPath, ['--import', guard, '--eval', script], { stdio: ['ignore', 1, 'pipe', 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  expect([...(await once(child, 'close')), said]).toEqual([0, null, ''])
})
