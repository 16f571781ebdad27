import { fork } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'

/** Timers of werift hold what they watch for up to 33 s. */
const LIMIT_MS = 480_000

test('no object of departed clients stays in memory, however they left', { timeout: LIMIT_MS }, async () => {
  const child = fork(new URL('./churnProcess.ts', import.meta.url), [], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let left: unknown = 'not counted yet'
  child.on('message', (counts) => (left = counts))
  child.on('exit', (code) => (left = `the process ended with ${code}`))
  await expect.poll(() => left, { timeout: LIMIT_MS }).toEqual({})
})
