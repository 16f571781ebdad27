import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isRunning } from '../../src/base/processes.ts'
import { until } from '../support/until.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))

interface Started {
  readonly child: ChildProcess
  readonly serverPid: number
  readonly ports: readonly number[]
  /** All log lines. */
  readonly log: () => string
}

let data: string
const started: Started[] = []
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sluice-npm-'))
})
afterEach(() => {
  for (const { child, serverPid } of started.splice(0)) {
    child.kill('SIGKILL')
    if (isRunning(serverPid)) process.kill(serverPid, 'SIGKILL')
  }
  rmSync(data, { recursive: true })
})

/** Starts `npm start` behind this command, in its own process group, and waits until the server is ready. */
async function npmStart(program = 'npm', argv: readonly string[] = ['start']): Promise<Started> {
  const settings = {
    SLUICE_DATA_DIR: data,
    SLUICE_SERVER_PORT: '0',
    SLUICE_RTMP_PORT: '0',
    SLUICE_SRT_PORT: '0',
    SLUICE_WEBRTC_PORT: '0',
  }
  const child = spawn(program, argv, {
    cwd: repository,
    env: { ...process.env, ...settings },
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let log = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (log += text))
  const ready = await until(() => line(log, 'ready'))
  const ports = [line(log, 'taking RTMP')?.port, new URL(String(ready.url)).port].map(Number)
  // The process id in this namespace: in its own one it has another number.
  const own = { child, serverPid: serverOf(child.pid ?? 0), ports, log: () => log }
  started.push(own)
  return own
}

function line(log: string, message: string): Record<string, unknown> | undefined {
  const text = log.split('\n').find((one) => one.includes(`"message":"${message}"`))
  return text === undefined ? undefined : (JSON.parse(text.slice(text.indexOf('{'))) as Record<string, unknown>)
}

/** The descendant that runs what the set-up has built. */
function serverOf(ancestor: number): number {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  const server = pids.find((pid) => procFile(pid, 'cmdline').includes('dist/main.js') && descendsFrom(pid, ancestor))
  if (server === undefined) throw new Error('npm start has started no server')
  return server
}

function descendsFrom(pid: number, ancestor: number): boolean {
  if (pid <= 1) return false
  return pid === ancestor || descendsFrom(parentOf(pid), ancestor)
}

const parentOf = (pid: number): number => Number(/^PPid:\s*(\d+)/m.exec(procFile(pid, 'status'))?.[1] ?? 0)

function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

async function isTaken(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const taken = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return taken
}

async function hasStopped({ serverPid, ports }: Started): Promise<void> {
  await until(() => (isRunning(serverPid) ? undefined : true))
  expect(await Promise.all(ports.map(isTaken))).toEqual([false, false])
}

describe('a server of `npm start` stops cleanly and frees its ports', () => {
  test.each(['SIGTERM', 'SIGKILL'] as const)('when npm gets %s', async (signal) => {
    const own = await npmStart()
    own.child.kill(signal)
    await hasStopped(own)
    expect(line(own.log(), 'stopped')).toBeDefined()
  })

  test('when a supervisor sends SIGTERM to all processes at once, and npm forwards it as well', async () => {
    const own = await npmStart()
    process.kill(-(own.child.pid ?? 0), 'SIGTERM')
    await hasStopped(own)
    expect(line(own.log(), 'stopped')).toBeDefined()
  })

  test('when its terminal gets Ctrl+C', async () => {
    const own = await npmStart('script', ['--quiet', '--flush', '--command', 'npm start', '/dev/null'])
    // There the link for the first user is kept by nothing.
    expect(await until(() => /\/dashboard\/#\/setup\?code=[\w-]{43}/.exec(own.log()))).not.toBeNull()
    // `sluice` is on no path there.
    expect(own.log()).toContain('with: npm run -s sluice -- user link ')
    own.child.stdin?.write('\u0003')
    await hasStopped(own)
    expect(line(own.log(), 'stopped')).toBeDefined()
  })

  test('when its terminal is closed', async () => {
    const own = await npmStart('script', ['--quiet', '--flush', '--command', 'npm start', '/dev/null'])
    own.child.kill('SIGKILL')
    await hasStopped(own)
  })

  test('when npm is process 1, as in a container', async () => {
    const own = await npmStart('unshare', ['--pid', '--fork', '--mount-proc', 'npm', 'start'])
    process.kill(parentOf(own.serverPid), 'SIGTERM')
    await hasStopped(own)
    expect(line(own.log(), 'stopped')).toBeDefined()
  })
})
