import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { command, sluice } from './cliProcess.ts'

/** Whether this machine has the client programs. In CI it has. */
const hasPrograms = ['pg_dump', 'pg_restore', 'psql'].every((name) => {
  try {
    execFileSync(name, ['--version'])
    return true
  } catch {
    return false
  }
})

describe.skipIf(!postgresUrl() || (!hasPrograms && !process.env['CI']))('a backup of a PostgreSQL database', () => {
  const root = mkdtempSync(join(tmpdir(), 'sluice-pgbackup-'))
  const source = join(root, 'source')
  const file = join(root, 'backup.tar')
  const databases: { url: string; drop: () => Promise<void> }[] = []
  const newDatabase = async (): Promise<string> => {
    const database = await freshDatabase()
    databases.push(database)
    return database.url
  }
  const at = (dir: string, url: string, ...argv: string[]) =>
    command(['--data', dir, ...argv], { env: { SLUICE_STORAGE_URL: url } })
  async function query(url: string, sql: string): Promise<unknown[]> {
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  let url: string
  let token: string
  beforeAll(async () => {
    url = await newDatabase()
    token = (await at(source, url, 'token', 'create', '--label', 'one', '--stream', 'show')).stdout.trim()
    // Its engine has no targets, so that a sealed column is empty.
    expect(await at(source, url, 'channel', 'create', '--name', 'Main stage')).toMatchObject({ status: 0 })
    await query(
      url,
      `delete from outbox;
      insert into outbox (account_id, type, event, data, created_at_ms) select id, 'feeds', 'started', '{}', 1 from accounts;
      insert into sessions (id, action, protocol, account_id, stream_name, address, node, started_at_ms, spare, bytes_in,
          bytes_out, cache_bytes)
        select 's1', 'publish', 'rtmp', id, 'show', '192.0.2.1', 'n1', 1, 0, 0, 0, 0 from accounts`,
    )
    await query(
      url,
      `insert into usage (account_id, span, at_ms, stream_name, protocol, token_id, tracking_id, country, bytes_in, bytes_out,
        cache_bytes)
      select id, span.column1, 0, name.column1, 'whep', name.column2, '', '', 1, 10, 5
        from accounts, (values ('hour'), ('day'), ('month')) as span, (values ('show', 1), ('', 0)) as name`,
    )
    await query(
      url,
      `insert into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms) values ('n1', 'far', 7, 1, 1)`,
    )
    await query(
      url,
      `insert into node_usage (node_id, ord, account_id, hour_ms, stream_name, protocol, token_id, tracking_id, country, bytes_in,
        bytes_out)
      select 'n1', column1, id, column2, 'show', 'whep', 1, '', '', 1, 100 from accounts, (values (1, 0), (2, 0), (3, 2682000000)) as row`,
    )
    expect(await at(source, url, 'backup', file)).toMatchObject({ status: 0 })
  })
  afterAll(async () => {
    for (const database of databases) await database.drop()
    rmSync(root, { recursive: true })
  })

  function newTarget(): string {
    const dir = join(root, `target-${databases.length}`)
    mkdirSync(dir, { mode: 0o700 })
    copyFileSync(join(source, 'sealing.key'), join(dir, 'sealing.key'))
    return dir
  }

  test('is made and restored where storage.url has several hosts', async () => {
    const several = (one: string) => one.replace(/@([^/]+)/, '@$1,$1')
    const [dir, target] = [newTarget(), await newDatabase()]
    const other = join(root, 'several.tar')
    expect(await at(source, several(url), 'backup', other)).toMatchObject({ status: 0 })
    expect(await at(dir, several(target), 'restore', other)).toMatchObject({ status: 0 })
    expect((await at(dir, target, 'token', 'show', '1')).stdout).toContain(token)
  })

  test('admits the same tokens in another database, and has nothing left to send and no open session', async () => {
    const [dir, target] = [newTarget(), await newDatabase()]
    expect(await at(dir, target, 'backup', 'verify', file)).toMatchObject({ status: 0 })
    const restored = await at(dir, target, 'restore', file)
    expect(restored).toMatchObject({ status: 0 })
    expect(restored.stderr).toContain('Ended 1 sessions, and gave up 1 deliveries and events')
    expect((await at(dir, target, 'token', 'show', '1')).stdout).toContain(token)
    const check = ['check', '--action', 'publish', '--stream', 'show', '--ip', '192.0.2.1', '--token', token]
    expect(await at(dir, target, ...check)).toMatchObject({ status: 0 })
    const left = `select (select count(*)::int from outbox) as outbox, (select count(*)::int from sessions where ended_at_ms is null) as sessions`
    expect(await query(target, left)).toEqual([{ outbox: 0, sessions: 0 }])
    const usage = `select span, at_ms, bytes_out, count(*) as n from usage group by 1, 2, 3
      union all select '', ord, 0, 1 from node_usage order by 1, 2`
    // Of the stream and of the account.
    expect((await query(target, usage)).map((row) => Object.values(row as object).join(' '))).toEqual([
      'day 0 210 2',
      'day 2678400000 100 2',
      'hour 0 210 2',
      'hour 2682000000 100 2',
      'month 0 210 2',
      'month 2678400000 100 2',
    ])
    expect(await query(url, left)).toEqual([{ outbox: 1, sessions: 1 }])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(['sealing.key'])
  })

  test('is not restored to a database with tables, nor beside a server', async () => {
    expect((await at(source, url, 'restore', file)).stderr).toMatch(/has \d+ tables already/)
    await query(
      url,
      `insert into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms)
        values ('n', 'far', 7, 1, ${Date.now() + 2 * LEASE_MAX_MS})`,
    )
    // Longer than any lease: the clock was ahead when it was written, and has been put back.
    expect((await at(source, url, 'restore', file)).stderr).toMatch(/has \d+ tables already/)
    await query(url, `update serving_nodes set alive_until_ms = ${Date.now() + LEASE_MAX_MS} where id = 'n'`)
    expect((await at(source, url, 'restore', file)).stderr).toContain('a server (process 7 at far) runs')
    await query(url, 'delete from serving_nodes')
  })

  test('leaves the database empty when it cannot be restored whole', async () => {
    const content = readFileSync(file)
    const position = content.indexOf('"createdAt"') - 20_000
    content[position] = (content[position] ?? 0) ^ 1
    const damaged = join(root, 'damaged.tar')
    writeFileSync(damaged, content)
    const [dir, target] = [newTarget(), await newDatabase()]
    expect((await at(dir, target, 'restore', damaged)).stderr).toContain('damaged')
    expect(
      await query(target, `select table_name from information_schema.tables where table_schema = 'public'`),
    ).toEqual([])
    expect(existsSync(join(dir, 'restore'))).toBe(false)
  })

  test('leaves the database empty when it is killed in the middle', async () => {
    const [dir, target, programs] = [newTarget(), await newDatabase(), join(root, 'killing')]
    mkdirSync(programs)
    const found = (name: string) => execFileSync('which', [name], { encoding: 'utf8' }).trim()
    const isLocked = `"${found('psql')}" -Atc 'select objid from pg_locks where objid = 4711' '${target}' | grep -q 4711`
    const killer = [
      '#!/bin/sh',
      `"${found('pg_restore')}" "$@"`,
      // All before it has been run when the lock is held.
      "echo 'select pg_advisory_lock(4711);'",
      `until ${isLocked}; do :; done`,
      'kill -9 $PPID',
    ]
    writeFileSync(join(programs, 'pg_restore'), killer.join('\n'), { mode: 0o700 })
    const env = { SLUICE_STORAGE_URL: target, PATH: `${programs}:${process.env['PATH']}` }
    expect(await sluice(['--data', dir, 'restore', file], { env })).toMatchObject({ status: null })
    const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await expect.poll(() => query(target, others)).toEqual([])
    expect(await at(dir, target, 'restore', file)).toMatchObject({ status: 0 })
  })

  test('names what psql refused, while pg_restore has more to write', async () => {
    const [dir, target, programs] = [newTarget(), await newDatabase(), join(root, 'programs')]
    mkdirSync(programs)
    const endless = '#!/bin/sh\necho "select no_such_column;"\nexec yes "select 1;"\n'
    writeFileSync(join(programs, 'pg_restore'), endless, { mode: 0o700 })
    const path = process.env['PATH']
    process.env['PATH'] = `${programs}:${path}`
    try {
      const refused = await at(dir, target, 'restore', file)
      expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('no_such_column') })
    } finally {
      process.env['PATH'] = path
    }
  })

  test('without pg_dump is refused with the command to run, which does not show the password', async () => {
    const path = process.env['PATH']
    process.env['PATH'] = '/nowhere'
    const address = new URL(url)
    address.password ||= 'pa55word'
    try {
      const refused = await at(source, address.href, 'backup', join(root, 'none.tar'))
      expect(refused.stderr).toContain('pg_dump --format=custom --no-owner --no-privileges --file=FILE')
      expect(refused.stderr).not.toContain(address.password)
    } finally {
      process.env['PATH'] = path
    }
    expect(readdirSync(root).filter((name) => name.includes('none'))).toEqual([])
  })
})
