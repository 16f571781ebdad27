import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { Hosts } from '../../src/store/postgres/hosts.ts'
import { StopTimeout } from '../../src/store/stopTimeout.ts'
import { createPool } from '../../src/store/postgres/pool.ts'
import { quiet } from '../conformance/store.samples.ts'
import { runApp } from '../support/app.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace } from '../support/place.ts'
import { postgresUrl } from '../support/postgres.ts'
import { unprivileged } from '../support/postgres.setup.ts'
import { findProgram } from '../proxies/programs.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'
import { command } from './cliProcess.ts'

const SHARED = 'PgBouncer in transaction mode? Sluice needs sessions: set pool_mode = session, or connect directly'

const program = findProgram('pgbouncer', ['pgbouncer', 'libc-ares2', 'libevent-2.1-7'])
if (program === null && process.env['CI']) throw new Error('pgbouncer was not found')

type Mode = 'session' | 'transaction'

describe.skipIf(program === null || !postgresUrl())('PgBouncer', () => {
  test('in session mode serves a node, and the limits of its connections are in force', async () => {
    const { url } = await bouncer('session')
    const app = await runApp({ flags: { storage: { url } } })
    onTestFinished(() => app.close())
    const body = { label: 'a', streams: [{ streamName: 'show' }] }
    expect((await app.call('POST', '/api/publish_token', body)).status).toBe(200)
    expect((await app.call('GET', '/readyz')).text).toBe('ready\n')
    expect(await limitsOf(url)).toEqual({ lock: '5s', statement: '10s', idle: '10s' })
  })

  test('in transaction mode is refused by name at the start, and by the doctor', async () => {
    const { url } = await bouncer('transaction')
    await expect(openStore({ url, log: quiet })).rejects.toThrow(SHARED)
    const env = { SLUICE_STORAGE_URL: url, SLUICE_SECRETS_SEALING_KEY: SEALING_KEY }
    const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
    onTestFinished(() => rmSync(dir, { recursive: true }))
    const { stdout } = await command(['--data', dir, 'doctor'], { env })
    expect(stdout).toMatch(/^FAIL +store +PgBouncer in transaction mode\? .* pool_mode = session/m)
  })

  test('that changes to transaction mode under a node is the reason of a 503, and not a 500', async () => {
    const { url, changeTo } = await bouncer('session')
    const app = await runApp({ flags: { storage: { url } } })
    onTestFinished(() => app.close())
    const lists = () =>
      Promise.all(Array.from({ length: 10 }, () => app.call('GET', '/api/publish_token/list?page=1&itemsOnPage=1')))
    await lists()
    changeTo('transaction')
    const seen = new Set<number>()
    await until(async () => {
      const answers = await lists()
      for (const { status } of answers) seen.add(status)
      return answers.some(({ status, json }) => status === 503 && json.message === `Nothing was changed: ${SHARED}`)
    })
    expect(seen).not.toContain(500)
  })
})

/** PgBouncer in front of a new database. */
async function bouncer(mode: Mode): Promise<{ url: string; changeTo: (mode: Mode) => void }> {
  const place = await newPlace('PostgreSQL')
  onTestFinished(() => place.remove())
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pgbouncer-'))
  const user = unprivileged()
  if (user.uid !== undefined) chownSync(folder, user.uid, user.uid)
  const { hostname, port, pathname } = new URL(place.url)
  const own = await ownPort()
  const file = join(folder, 'pgbouncer.ini')
  const write = (poolMode: Mode) =>
    writeFileSync(
      file,
      `[databases]\nsluice = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=sluice\n` +
        `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${own}\nauth_type = any\nunix_socket_dir =\n` +
        `pool_mode = ${poolMode}\ndefault_pool_size = 40\n`,
    )
  write(mode)
  const child = spawn(program?.path ?? '', [file], {
    ...user,
    env: program?.env,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(async () => {
    await end(child)
    rmSync(folder, { recursive: true })
  })
  await saying(child, 'process up')
  return {
    url: `postgres://sluice@127.0.0.1:${own}/sluice`,
    changeTo: (next) => {
      write(next)
      child.kill('SIGHUP')
    },
  }
}

async function saying(child: ChildProcess, what: string): Promise<void> {
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text))
  await until(() => {
    if (child.exitCode !== null) throw new Error(`PgBouncer has ended: ${log}`)
    return log.includes(what)
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function limitsOf(url: string): Promise<unknown> {
  const pool = createPool(new Hosts(url), { poolSize: 1, stopTimeout: new StopTimeout(), log: quiet })
  const client = await pool.lend()
  const { rows } = await client.query(
    `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`,
  )
  pool.giveBack(client)
  await pool.end()
  return rows[0]
}
