import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../src/app/app.ts'
import { backups } from '../../src/app/backups.ts'
import { provisionFrom } from '../../src/app/provision.ts'
import { rotateSealingKey } from '../../src/app/keyRotation.ts'
import { addressesForDoctor, askHealth } from '../../src/app/health.ts'
import { tryVideoEncoder } from '../../src/app/videoEncoder.ts'
import { systemClock } from '../../src/base/clock.ts'
import { ok } from '../../src/base/result.ts'
import { runCli } from '../../src/cli/run.ts'
import { loadConfig } from '../../src/config/load.ts'
import { builtProgram } from '../support/program.ts'

export interface Ran {
  status: number | null
  stdout: string
  stderr: string
}

export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'sluice-cli-'))

interface Start {
  /** The program; what is built of the sources by default. */
  entry?: string
  /** Its limit of open descriptors; by default that of this process. */
  openFiles?: number
}

// Most of a start from the sources goes into compiling them; the first one does it for the others.
const ofSources = (main: string) => ({ main, compileCache: process.env['NODE_COMPILE_CACHE'] })

/** Runs outside the repository, without settings from the environment of the tests. */
async function start(argv: readonly string[], env: Record<string, string>, { entry, openFiles }: Start = {}) {
  const { main, compileCache } = entry === undefined ? await builtProgram() : ofSources(entry)
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_'))
  const command = [process.execPath, main, ...argv]
  const limited = ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', ...command]
  const [program = '', ...rest] = openFiles === undefined ? command : limited
  return spawn(program, rest, {
    cwd: tmpdir(),
    env: { ...Object.fromEntries(ours), NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function collect(stream: NodeJS.ReadableStream | null): { text: string } {
  const collected = { text: '' }
  stream?.setEncoding('utf8').on('data', (chunk: string) => (collected.text += chunk))
  return collected
}

/** Runs a command to its end, as a shell would. */
export async function sluice(
  argv: readonly string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  const child = await start(argv, env)
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  child.stdin?.end(input)
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, stdout: stdout.text, stderr: stderr.text }
}

let before: Promise<unknown> = Promise.resolve()

/**
 * Runs a command in this process, on a real store: the subject is the command, not the start of a process. Commands run
 * one after another, because two connections of one thread to a SQLite file would wait for each other.
 */
export function command(argv: readonly string[], around: { env?: Record<string, string>; input?: string } = {}) {
  const ran = before.then(() => inThisProcess(argv, around))
  before = ran
  return ran
}

async function inThisProcess(
  argv: readonly string[],
  { env = {}, input = '' }: { env?: Record<string, string>; input?: string },
): Promise<Ran> {
  const ran = { stdout: '', stderr: '' }
  const status = await runCli(argv, {
    version: '0.0.0',
    env,
    clock: systemClock,
    stdout: (text) => void (ran.stdout += text),
    stderr: (text) => void (ran.stderr += text),
    stdoutDrained: async () => undefined,
    terminal: () => null,
    program: 'sluice',
    stderrIsTerminal: false,
    readStdin: async () => ok(input),
    stopRequested: () => Promise.reject(new Error('servers are processes here')),
    backups: async () => backups,
    provision: provisionFrom,
    rotateSealingKey,
    tryVideoEncoder,
    addressesOf: addressesForDoctor,
    askHealth,
    verifyCallback: () => Promise.reject(new Error('receivers are processes here')),
    loadConfig,
    openApp,
    startServing: () => Promise.reject(new Error('servers are processes here')),
  })
  return { status, ...ran }
}

export interface Served {
  url: string
  port: number
  /** All lines so far. */
  log(): string
  /** Standard error so far, where the server prints what its log must not have. */
  errors(): string
  signal(name: NodeJS.Signals): void
  /** The exit status. */
  ended: Promise<number | null>
}

const started: ChildProcess[] = []

export interface Listening {
  url: string
  /** The lines after the first, each a JSON value. */
  lines(): { [field: string]: unknown }[]
  signal(name: NodeJS.Signals): void
  ended: Promise<number | null>
}

/** Starts `sluice listen` on a free loopback port and waits until it prints its URL. */
export async function listen(secret: string): Promise<Listening> {
  const child = await start(['listen', '--port', '0', '--secret-stdin', '--json'], {})
  started.push(child)
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  child.stdin?.end(`${secret}\n`)
  const ended = once(child, 'close').then(([status]) => status as number | null)
  const lines = () =>
    stdout.text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { [field: string]: unknown })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const [first] = lines()
      if (first !== undefined) resolve(String(first['listening']))
    })
    void ended.then((status) => reject(new Error(`ended with ${status}: ${stdout.text}${stderr.text}`)))
  })
  return { url, lines: () => lines().slice(1), signal: (name) => void child.kill(name), ended }
}

export interface Watching {
  /** The whole lines so far. */
  lines(): string[]
  signal(name: NodeJS.Signals): void
  /** What reads standard output goes away. */
  closePipe(): void
  ended: Promise<number | null>
}

/** Starts a command that goes on until it is ended. */
export async function watching(argv: readonly string[]): Promise<Watching> {
  const child = await start(argv, {})
  started.push(child)
  const stdout = collect(child.stdout)
  const ended = once(child, 'close').then(([status]) => status as number | null)
  return {
    lines: () => stdout.text.split('\n').slice(0, -1),
    signal: (name) => void child.kill(name),
    closePipe: () => void child.stdout?.destroy(),
    ended,
  }
}

/** Starts a server on a free loopback port and waits until it is ready. */
export async function serve(
  argv: readonly string[],
  env: Record<string, string> = {},
  how: Start = {},
): Promise<Served> {
  const media = { SLUICE_RTMP_HOST: '127.0.0.1', SLUICE_RTMP_PORT: '0', SLUICE_SRT_PORT: '0', SLUICE_WEBRTC_PORT: '0' }
  const port = env['SLUICE_SERVER_PORT'] ?? '0'
  const child = await start(['serve', '--host', '127.0.0.1', '--port', port, ...argv], { ...media, ...env }, how)
  started.push(child)
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const ended = once(child, 'close').then(([status]) => status as number | null)
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const ready = stdout.text.split('\n').find((line) => line.includes('"message":"ready"'))
      if (ready !== undefined) resolve((JSON.parse(ready) as { url: string }).url)
    })
    void ended.then((status) => reject(new Error(`ended with ${status}: ${stdout.text}${stderr.text}`)))
  })
  return {
    url,
    port: Number(new URL(url).port),
    log: () => stdout.text,
    errors: () => stderr.text,
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Ends processes that a failed test has left. */
export function endServers(): void {
  for (const child of started.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
}

/** The status of a request to the management interface with this API secret. */
export async function statusWith(url: string, secret: string): Promise<number> {
  const response = await fetch(`${url}/api/publish_token/list`, { headers: { Authorization: `Bearer ${secret}` } })
  await response.arrayBuffer()
  return response.status
}
