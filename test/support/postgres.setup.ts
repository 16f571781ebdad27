import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { ownPort } from './ownPort.ts'
import { removeUnused } from './program.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The administration URL of a PostgreSQL server, or null if this machine has none. */
    postgresUrl: string | null
  }
}

/** New clusters, to copy: initdb takes ten times as long. */
const CLUSTERS = fileURLToPath(new URL('../../build/test-postgres', import.meta.url))

/** `nobody` */
const UNPRIVILEGED = 65534

/** One server for the whole run: `PG_TEST_URL`, else a server of our own from the installed binaries. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  removeUnused(CLUSTERS)
  const given = process.env['PG_TEST_URL']
  if (given) {
    project.provide('postgresUrl', given)
    return undefined
  }
  const bin = findBinaries()
  if (!bin) {
    reportMissing()
    project.provide('postgresUrl', null)
    return undefined
  }
  const server = await startPostgres(bin)
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}

function reportMissing(): void {
  const message = 'PostgreSQL was not found (set PG_TEST_URL or install its server binaries)'
  if (process.env['CI']) throw new Error(message)
  console.warn(`\n*** ${message}: everything about PostgreSQL is SKIPPED ***\n`)
}

/** The folder of `initdb` and `postgres`, from PATH or from Debian's location (newest first). */
export function findBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...versions.map((v) => join(debian, v, 'bin'))]
  return folders.find((folder) => isExecutable(join(folder, 'initdb')) && isExecutable(join(folder, 'postgres')))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface TestServer {
  url: string
  start(): Promise<void>
  /** `immediate` looks like a crash to clients. */
  stop(how?: 'fast' | 'immediate'): Promise<void>
  /** A new standby of this server, which is stopped while it is copied. */
  standby(): Promise<TestServer>
  /** Makes a stopped server the standby of another one from its next start on. */
  follow(primary: TestServer): void
  remove(): Promise<void>
}

/** Creates a cluster in a temporary folder and starts it on a loopback port, with fsync off for speed. */
export async function startPostgres(bin: string): Promise<TestServer> {
  return startCluster(bin, ({ data, around }) => createCluster(join(bin, 'initdb'), data, around))
}

/** @param create makes the cluster @param primary the URL of the server that it follows */
async function startCluster(
  bin: string,
  create: (at: { data: string; around: Around }) => Promise<void>,
  primary?: string,
): Promise<TestServer> {
  const cwd = mkdtempSync(join(tmpdir(), 'sluice-pg-'))
  const around = { cwd, ...unprivileged() }
  if (around.uid !== undefined) chownSync(cwd, around.uid, around.uid)
  const data = join(cwd, 'data')
  await create({ data, around })
  const port = await ownPort()
  const process = new ServerProcess(join(bin, 'postgres'), data, port, around)
  const server: TestServer = {
    url: `postgres://sluice@127.0.0.1:${port}/postgres`,
    start: () => process.start(),
    stop: (how) => process.stop(how),
    standby: () => startCluster(bin, (at) => copyStopped(process, data, at.data), server.url),
    follow: ({ url }) => process.follow(url),
    remove: async () => {
      await process.stop('immediate')
      rmSync(cwd, { recursive: true, force: true })
    },
  }
  if (primary !== undefined) process.follow(primary)
  await server.start()
  return server
}

/** PostgreSQL refuses to run as root; this is `nobody`. */
export const unprivileged = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}

async function copyStopped(server: ServerProcess, data: string, copy: string): Promise<void> {
  await server.stop()
  await run('cp', ['-a', data, copy])
  await server.start()
}

const run = promisify(execFile)

/** As whom and where initdb runs. */
interface Around {
  readonly cwd: string
  readonly uid?: number
  readonly gid?: number
}

/** A copy keeps its owner, because PostgreSQL refuses to run as root. */
async function createCluster(initdb: string, data: string, around: Around): Promise<void> {
  const flags = ['-A', 'trust', '-U', 'sluice', '--no-sync', '--locale=C', '-E', 'UTF8']
  const version = execFileSync(initdb, ['--version'], { encoding: 'utf8' })
  const key = createHash('sha256')
    .update(JSON.stringify([version, flags, around.uid]))
    .digest('hex')
  const kept = join(CLUSTERS, key.slice(0, 32))
  if (existsSync(kept)) {
    utimesSync(kept, new Date(), new Date())
    await run('cp', ['-a', kept, data])
    return
  }
  await run(initdb, ['-D', data, ...flags], around)
  await keepCluster(data, kept)
}

/** Copied beside its place and moved there when it is whole. Another run may have been quicker. */
async function keepCluster(data: string, kept: string): Promise<void> {
  mkdirSync(CLUSTERS, { recursive: true })
  const copy = `${kept}.${randomUUID()}`
  await run('cp', ['-a', data, copy])
  try {
    renameSync(copy, kept)
  } catch (error) {
    rmSync(copy, { recursive: true })
    if (!existsSync(kept)) throw error
  }
}

class ServerProcess {
  readonly #command: string
  readonly #data: string
  readonly #args: string[]
  readonly #options: Around
  #child: ReturnType<typeof spawn> | undefined

  constructor(command: string, data: string, port: number, around: Around) {
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      full_page_writes: 'off',
      max_connections: 200,
      // What a standby needs that was away for a moment.
      wal_keep_size: '64MB',
    }
    this.#command = command
    this.#data = data
    this.#args = ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])]
    this.#options = around
  }

  follow(url: string): void {
    writeFileSync(join(this.#data, 'standby.signal'), '')
    this.#args.push('-c', `primary_conninfo=${url}`)
  }

  async start(): Promise<void> {
    if (this.#child) return
    const child = spawn(this.#command, this.#args, { ...this.#options, stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    let output = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-4_000)
        if (/ready to accept (read-only )?connections/.test(output)) resolve()
      })
      child.on('error', reject)
      child.on('exit', () => reject(new Error(`PostgreSQL did not start: ${output}`)))
    })
  }

  async stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null) return
    const exited = once(child, 'exit')
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await exited
  }
}
