import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { Client } from 'pg'
import { childEnvironment } from '../../base/childEnvironment.ts'
import { errorText, hasCode } from '../../base/errorCode.ts'
import { partialOf, removePartial } from '../../base/files.ts'
import { libraryUrl, programUrl } from '../../base/postgresUrl.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { KEY_ID_POSITION } from '../../base/sealer.ts'
import { LEASE_END_MAX_MS } from '../../base/time.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import { openClient } from '../postgres/client.ts'
import { openingProblem, translatePostgresError } from '../postgres/errors.ts'
import { Hosts } from '../postgres/hosts.ts'
import { types } from '../postgres/pool.ts'
import { COUNT_UNDER_WAY, type Reset, resetStatements } from './afterRestore.ts'
import type { OpenBackup } from './backupFile.ts'
import { type BackupSource, refusalOf } from './make.ts'
import type { DatabaseFacts } from './manifest.ts'

/** A connection for programs of PostgreSQL: its address without the password, which no process list shows then. */
interface Target {
  readonly url: string
  readonly env: Record<string, string | undefined>
}

function targetOf(url: string): Target {
  const address = new URL(programUrl(url))
  const { password } = address
  address.password = ''
  return {
    url: address.href,
    env: { ...childEnvironment(), ...(password ? { PGPASSWORD: decodeURIComponent(password) } : {}) },
  }
}

const DUMP = ['--format=custom', '--no-owner', '--no-privileges']

/** A PostgreSQL database as the source of a backup; `pg_dump` reads it. */
export async function postgresSource(url: string): Promise<Result<BackupSource, string>> {
  return connected(url, async (client) => {
    const { rows } = await client.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes')
    return ok({ engine: 'postgres', bytes: rows[0]?.bytes ?? 0, copyTo: (file: string) => dump(url, file) })
  })
}

/** Dumps the state of one moment, which the facts are of, too. */
const dump = (url: string, file: string): Promise<Result<DatabaseFacts, string>> =>
  connected(url, async (client, host) => {
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query<{ id: string }>('select pg_export_snapshot() as id')
    const facts = await factsOf(client)
    const { url: address, env } = targetOf(host)
    const args = [...DUMP, `--snapshot=${rows[0]?.id ?? ''}`, `--file=${file}`, `--dbname=${address}`]
    const dumped = await finished('pg_dump', spawn('pg_dump', args, { env, stdio: ['ignore', 'ignore', 'pipe'] }))
    if (dumped.ok) return ok(facts)
    return err(
      dumped.error === null ? missing('pg_dump', `pg_dump ${DUMP.join(' ')} --file=FILE '${address}'`) : dumped.error,
    )
  })

async function factsOf(client: Client): Promise<DatabaseFacts> {
  const names = async (sql: string) => (await client.query<{ name: string }>(sql)).rows.map(({ name }) => name)
  const count = async (table: string) =>
    (await client.query<{ n: number }>(`select count(*) as n from ${table}`)).rows[0]?.n ?? 0
  const keys = Object.values(SEALED_COLUMNS).map(
    ({ table, column }) =>
      `select encode(substr(${column}, ${KEY_ID_POSITION.at + 1}, ${KEY_ID_POSITION.bytes}), 'hex') as name from ${table}
        where ${column} is not null`,
  )
  return {
    schema: await names('select name from kysely_migration order by name'),
    sealedBy: await names(`${keys.join(' union ')} order by name`),
    accounts: await count('accounts'),
    tokens: await count('tokens'),
  }
}

/** Why nothing can be restored to this database; null if it can. */
export async function databaseProblem(url: string): Promise<string | null> {
  const found = await connected(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select table_name as name from information_schema.tables where table_schema = current_schema()',
    )
    if (rows.length === 0) return ok(null)
    const isOurs = rows.some(({ name }) => name === 'serving_nodes')
    return ok((isOurs && (await servingProblem(client))) || notEmpty(rows.length))
  })
  return found.ok ? found.value : found.error
}

const notEmpty = (tables: number): string =>
  `the database of storage.url has ${tables} tables already; restore to a new, empty database`

async function servingProblem(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ host_key: string; pid: number }>(
    `select host_key, pid from serving_nodes
      where alive_until_ms - extract(epoch from clock_timestamp()) * 1000 between 0 and ${LEASE_END_MAX_MS} limit 1`,
  )
  const [node] = rows
  return node
    ? `a server (process ${node.pid} at ${node.host_key}) runs on the database of storage.url; stop it first`
    : null
}

/** Restores to an empty database, and resets it, in one transaction. @param draft the name of the file that is written meanwhile */
export async function restorePostgres(
  backup: OpenBackup,
  { url, nowMs, draft }: { url: string; nowMs: number; draft: string },
): Promise<Result<Reset, string>> {
  const data = partialOf(draft, 'restore')
  try {
    const problem = await databaseProblem(url)
    if (problem !== null) return err(problem)
    const extracted = await backup.extract(data)
    if (!extracted.ok) return extracted
    const host = await hostOf(url)
    const reset = resetStatements('postgres', nowMs, Date.parse(backup.manifest.createdAt))
    return await pipeToPsql(targetOf(host), data, [`reset search_path`, COUNT_UNDER_WAY, ...reset])
  } catch (error) {
    return err(refusalOf(error, data).message)
  } finally {
    await removePartial(data)
  }
}

const RUN_SCRIPT = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1', '--file=-']
const WRITE_SCRIPT = ['--no-owner', '--no-privileges', '--file=-']

/**
 * `pg_restore` writes the script, and `psql` runs it with our statements behind it in one transaction. So no server can
 * find a restored database that was not reset. The transaction is our own: that of `--single-transaction` is committed at the end
 * of the input, which comes early when this process is killed. The program that fails first is the cause: without it the other
 * one is ended.
 */
async function pipeToPsql(
  { url, env }: Target,
  data: string,
  statements: readonly string[],
): Promise<Result<Reset, string>> {
  const psql = spawn('psql', [...RUN_SCRIPT, `--dbname=${url}`], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  const restored = finished('psql', psql)
  // It has no pipes if there was no descriptor left.
  if (psql.pid === undefined) return err(problemOf('psql', await restored))
  // When psql stops early, its error says why.
  psql.stdin.on('error', () => undefined)
  psql.stdin.write('begin;\n')
  const said = tail(psql.stdout)
  const script = spawn('pg_restore', [...WRITE_SCRIPT, data], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const written = finished('pg_restore', script)
  if (script.pid !== undefined) script.stdout.pipe(psql.stdin, { end: false })
  const problem = await Promise.race([
    restored.then((done) => problemOf('psql', done)),
    written.then((done) => (done.ok ? null : problemOf('pg_restore', done))),
  ])
  if (problem !== null) {
    psql.kill('SIGKILL')
    script.kill()
    await Promise.all([restored, written])
    return err(problem)
  }
  psql.stdin.end(`${[...statements, 'commit'].join(';\n')};\n`)
  const done = await restored
  if (!done.ok) return err(problemOf('psql', done))
  const [sessions = 0, deliveries = 0] = (said().trim().split('\n').at(-1) ?? '').split('|').map(Number)
  return ok({ sessions, deliveries })
}

const problemOf = (program: string, done: Result<void, string | null>): string =>
  done.ok ? `${program} ended too early` : (done.error ?? missing(program))

const missing = (program: string, command?: string): string =>
  `${program} was not found: install the client programs of PostgreSQL, of the version of the server` +
  (command === undefined ? '' : `, or run this where they are, with the password in PGPASSWORD: ${command}`)

/** Waits for a program. The error is its last line, or null if there is no such program. */
function finished(
  name: string,
  child: ChildProcessByStdio<Writable | null, Readable | null, Readable>,
): Promise<Result<void, string | null>> {
  const errors = tail(child.stderr)
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(err(hasCode(error, 'ENOENT') ? null : `${name}: ${error.message}`)))
    child.once('close', (code) =>
      resolve(code === 0 ? ok(undefined) : err(`${name} failed: ${firstError(errors(), code)}`)),
    )
  })
}

const firstError = (text: string, code: number | null): string =>
  text.split('\n').find((line) => /error|fatal/i.test(line)) ??
  (text.trim().split('\n').at(-1) || `exit status ${code}`)

const TAIL_MAX = 16_384

/** The last characters of a stream. A program that could not be started for want of a descriptor has none. */
function tail(stream: Readable | undefined): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-TAIL_MAX)
  })
  return () => text
}

/** @param work gets the URL of the host that it is connected to, too */
async function connected<T>(
  url: string,
  work: (client: Client, host: string) => Promise<Result<T, string>>,
): Promise<Result<T, string>> {
  let client: Client | undefined
  try {
    const host = await hostOf(url)
    client = new Client({
      connectionString: libraryUrl(host),
      connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
      types: types(),
    })
    client.on('error', () => undefined)
    await client.connect()
    return await work(client, host)
  } catch (raw) {
    return err(errorText(openingProblem(translatePostgresError(raw), url)))
  } finally {
    await client?.end().catch(() => undefined)
  }
}

const CONNECTION_TIMEOUT_MS = 5_000

/** Of several hosts the one that takes writes. A single one may be a standby, which can be backed up, too. */
async function hostOf(url: string): Promise<string> {
  const hosts = new Hosts(url)
  if (hosts.current === url) return url
  const client = await openClient({ hosts, openingMs: CONNECTION_TIMEOUT_MS })
  await client.end()
  return hosts.current
}
