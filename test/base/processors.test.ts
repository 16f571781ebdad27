import { spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { expect, test } from 'vitest'
import { isReadyToRun, ProcessorLoad, processorTimeOf, Starvation } from '../../src/base/processors.ts'
import { until } from '../support/until.ts'

test('idle processors are the average of the last ten seconds, from the second sample on', () => {
  let [idleMs, allMs] = [0, 0]
  const load = new ProcessorLoad(() => ({ processors: 4, idleMs, allMs }))
  const pass = (idle: number): void => {
    idleMs += idle
    allMs += 4000
    load.look()
  }
  load.look()
  expect(load.idle).toBeNull()
  pass(1000)
  expect(load.idle).toBe(1)
  for (let second = 0; second < 10; second += 1) pass(3000)
  expect(load.idle).toBe(3)
  expect([load.processors, load.busyPercent]).toEqual([4, 25])
})

test('this machine has some idle processors, and without elapsed time there is no answer', async () => {
  const load = new ProcessorLoad()
  await until(() => {
    load.look()
    return load.idle !== null
  })
  expect(load.idle).toBeGreaterThanOrEqual(0)
  expect(load.idle).toBeLessThanOrEqual(cpus().length)
  const still = new ProcessorLoad(() => ({ processors: 1, idleMs: 5, allMs: 5 }))
  still.look()
  still.look()
  expect([still.idle, still.busyPercent]).toEqual([null, null])
})

test.runIf(process.platform === 'linux')(
  'the time of a process includes its children, and is null when it is gone',
  async () => {
    const busy = 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo done; sleep 60'
    const shell = spawn('sh', ['-c', `sh -c '${busy}' & wait`], { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
    const pid = shell.pid ?? 0
    await new Promise((resolve) => shell.stdout.once('data', resolve))
    const used = await processorTimeOf(pid)
    expect(used).toBeGreaterThan(50)
    const ended = new Promise((resolve) => shell.once('close', resolve))
    process.kill(-pid, 'SIGKILL')
    await ended
    expect(await processorTimeOf(pid)).toBeNull()
  },
)

test.runIf(process.platform === 'linux')(
  'a process that works is ready to run, and one that sleeps, is stopped or gone is not',
  async () => {
    const shell = spawn('sh', ['-c', 'while read -r _; do while :; do :; done; done'], { detached: true })
    const pid = shell.pid ?? 0
    const ended = new Promise((resolve) => shell.once('close', resolve))
    await until(async () => !(await isReadyToRun(pid)))
    shell.stdin.write('go on\n')
    await until(() => isReadyToRun(pid))
    process.kill(pid, 'SIGSTOP')
    await until(async () => !(await isReadyToRun(pid)))
    process.kill(pid, 'SIGKILL')
    await ended
    expect(await isReadyToRun(pid)).toBe(false)
  },
)

test('the silence of a process does not count while it waits for a processor, unless it runs in circles', async () => {
  let state: { cpuMs: number | null; isReady: boolean } = { cpuMs: 70, isReady: false }
  const starvation = new Starvation(1000, { cpuMsOf: async () => state.cpuMs, isReady: async () => state.isReady })
  const since = (nowMs: number, next: Partial<typeof state> = {}, silentSinceMs = 0) => {
    state = { ...state, ...next }
    return starvation.countsSince(7, silentSinceMs, nowMs)
  }
  expect(await since(2000)).toBe(0)
  expect(await since(3000, { isReady: true })).toBe(3000)
  expect(await since(4000, { isReady: false })).toBe(3000)
  expect(await since(5000, { isReady: true, cpuMs: 1069 })).toBe(5000)
  expect(await since(6000, { cpuMs: 1070 })).toBe(0)
  // It has said something meanwhile.
  expect(await since(9000, {}, 8500)).toBe(9000)
  expect(await since(9500, { cpuMs: null }, 8500)).toBe(8500)
})
