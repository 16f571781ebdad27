import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { programOf } from '../../src/cli/process.ts'
import { run } from './fakeHost.ts'

test('texts name commands as this installation runs them', async () => {
  const clone = mkdtempSync(join(tmpdir(), 'a clone of sluice-'))
  onTestFinished(() => rmSync(clone, { recursive: true }))
  for (const folder of ['bin', 'path']) mkdirSync(join(clone, folder))
  const main = join(clone, 'dist', 'main.js')
  expect(programOf({ PATH: join(clone, 'path') }, main)).toBe('sluice')
  writeFileSync(join(clone, 'bin', 'sluice.js'), '')
  const program = programOf({ PATH: join(clone, 'path') }, main)
  expect(program).toBe(`node '${clone}/bin/sluice.js'`)
  for (const script of ['start', 'sluice'])
    expect(programOf({ npm_lifecycle_event: script }, main)).toBe('npm run -s sluice --')
  expect(programOf({ npm_lifecycle_event: 'npx' }, main)).toBe('npx sluice')
  writeFileSync(join(clone, 'path', 'sluice'), '')
  expect(programOf({ PATH: `/nowhere:${join(clone, 'path')}` }, main)).toBe('sluice')
  expect((await run(['secret', 'create'], { program })).stderr).toContain(`See: ${program} secret create --help`)
  const openApp = () => Promise.reject(new Error('restore a backup with `sluice restore`'))
  expect((await run(['secret', 'list'], { program, openApp })).stderr).toContain(`with \`${program} restore\``)
})

test('a command whose output has no room on a full disk ends with 1 and a sentence', async () => {
  const world = new URL('../../src/cli/process.ts', import.meta.url).href
  const program = `const { processWorld } = await import(${JSON.stringify(world)}); processWorld().stdout('the answer')`
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', full, 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [status] = await once(child, 'close')
  closeSync(full)
  expect([status, said]).toEqual([
    1,
    expect.stringMatching(/^sluice: the command is done, but its output is on a disk that is full\n$/),
  ])
})

test('a command that waits for what is typed says so, and how to end it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-typed-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const world = new URL('../../src/cli/process.ts', import.meta.url).href
  const read = `const { processWorld } = await import(${JSON.stringify(world)}); console.log(JSON.stringify(await processWorld().readStdin(99)))`
  writeFileSync(join(folder, 'read.mjs'), read)
  const typing = spawn('script', ['--quiet', '--flush', '--command', `${process.execPath} read.mjs`, '/dev/null'], {
    cwd: folder,
  })
  let said = ''
  typing.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (said === '') typing.stdin.write('typed\n\u0004')
    said += text
  })
  await once(typing, 'close')
  expect(said).toContain('sluice: reads standard input until Enter and Ctrl+D')
  expect(said).toContain('{"ok":true,"value":"typed\\n"}')
})
