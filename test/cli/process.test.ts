import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { expect, test } from 'vitest'

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
    expect.stringMatching(/^sluice: the command is done, but its output cannot be written: ENOSPC.*\n$/),
  ])
})
