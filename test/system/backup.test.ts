import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { LEASE_MAX_MS } from '../../src/base/time.ts'
import { hostKeyOf } from '../../src/config/dataDirectory.ts'
import { openAuthority } from '../../src/tls/selfSigned.ts'
import { command, endServers, listen, newDirectory, serve, type Served } from './cliProcess.ts'

const root = newDirectory()
const source = join(root, 'source')
const at = (dir: string, ...argv: string[]) => command(['--data', dir, ...argv])

afterAll(() => {
  endServers()
  rmSync(root, { recursive: true })
})

let count = 0
/** A data directory, with the key of another one. */
function newTarget(keyOf?: string): string {
  const dir = join(root, `target-${(count += 1)}`)
  mkdirSync(dir, { mode: 0o700 })
  if (keyOf !== undefined) copyFileSync(join(keyOf, 'sealing.key'), join(dir, 'sealing.key'))
  return dir
}

function query(file: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(file)
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

const execute = (dir: string, sql: string): void => {
  const db = new DatabaseSync(join(dir, 'sluice.db'))
  db.exec(sql)
  db.close()
}

/** Creates tokens as fast as the server takes them, eight at a time, and records which were acknowledged. */
function load({ url }: Served, secret: string) {
  const acknowledged: string[] = []
  const over = new AbortController()
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const caller = async (n: number) => {
    for (let i = 0; !over.signal.aborted; i += 1) {
      const label = `load-${n}-${i}`
      const body = JSON.stringify({ label, streams: [{ streamName: label }] })
      const answer = await fetch(`${url}/api/publish_token`, { method: 'POST', headers, body })
      expect([answer.ok, await answer.text()]).toEqual([true, expect.any(String)])
      acknowledged.push(label)
    }
  }
  const callers = Array.from({ length: 8 }, (_, n) => caller(n))
  return {
    acknowledged,
    stop: async () => {
      over.abort()
      await Promise.all(callers)
    },
  }
}

describe('a backup of a server at work', () => {
  const file = join(root, 'loaded.tar')
  let before: string[]
  let after: number
  let token: string
  beforeAll(async () => {
    token = (await at(source, 'token', 'create', '--label', 'mine', '--stream', 'show')).stdout.trim()
    const secret = (await at(source, 'secret', 'create', '--name', 'test')).stdout.trim()
    // Its engine has no targets, so that a sealed column is empty.
    expect(await at(source, 'channel', 'create', '--name', 'Main stage')).toMatchObject({ status: 0 })
    const server = await serve(['--data', source])
    const creating = load(server, secret)
    const waiting = { timeout: 60_000 }
    await vi.waitFor(() => expect(creating.acknowledged.length).toBeGreaterThan(300), waiting)
    before = [...creating.acknowledged]
    expect(await at(source, 'backup', file)).toMatchObject({ status: 0 })
    const then = creating.acknowledged.length
    await vi.waitFor(() => expect(creating.acknowledged.length).toBeGreaterThan(then), waiting)
    await creating.stop()
    after = creating.acknowledged.length
    server.signal('SIGTERM')
    await server.ended
  })

  test('has everything that was acknowledged before it began, and nothing half', async () => {
    const target = newTarget(source)
    expect(await at(target, 'restore', file)).toMatchObject({ status: 0 })
    const restored = join(target, 'sluice.db')
    const labels = new Set(query(restored, 'select label from tokens').map((row) => row['label']))
    expect(before.filter((label) => !labels.has(label))).toEqual([])
    expect(labels.size).toBeLessThanOrEqual(after + 1)
    const [whole] = query(
      restored,
      `select (select count(*) from tokens) as tokens, (select count(*) from token_streams) as streams,
        (select count(*) from audit where action like '%token%') as audit, (select sum(n) from token_counts) as counted`,
    )
    expect(whole).toEqual({ tokens: labels.size, streams: labels.size, audit: labels.size, counted: labels.size })
  })

  test('admits the same tokens elsewhere, and shows their values', async () => {
    const target = newTarget(source)
    await at(target, 'restore', file)
    const ask = ['check', '--action', 'publish', '--stream', 'show', '--ip', '192.0.2.1', '--token', token]
    const check = await at(target, ...ask)
    expect(check).toMatchObject({ status: 0 })
    expect((await at(target, 'token', 'show', '1')).stdout).toContain(token)
  })

  test('is a file that only its owner can read, without leftovers beside it', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(root).filter((name) => name.includes('partial'))).toEqual([])
  })

  test('has the key only if the operator asked for it, and then needs none', async () => {
    const key = readFileSync(join(source, 'sealing.key'))
    expect(readFileSync(file).includes(key)).toBe(false)
    const withKey = join(root, 'with-key.tar')
    const made = await at(source, 'backup', withKey, '--with-key')
    expect(made.stderr).toContain('the sealing key is in it')
    const target = newTarget()
    expect(await at(target, 'restore', withKey)).toMatchObject({ status: 0 })
    expect(readFileSync(join(target, 'sealing.key'))).toEqual(key)
    expect(statSync(join(target, 'sealing.key')).mode & 0o777).toBe(0o600)
  })

  test('has the authority that phones trust only together with the key, and a restore replaces none', async () => {
    const authority = (dir: string) => join(dir, 'tls', 'authority.pem')
    await openAuthority(authority(source), { clock: systemClock, random: systemRandom })
    const pem = readFileSync(authority(source), 'utf8')
    await at(source, 'backup', join(root, 'no-secrets.tar'))
    expect(readFileSync(join(root, 'no-secrets.tar')).includes('PRIVATE KEY')).toBe(false)
    const file = join(root, 'with-authority.tar')
    expect(await at(source, 'backup', file, '--with-key')).toMatchObject({ status: 0 })
    const [fresh, other] = [newTarget(), newTarget()]
    await openAuthority(authority(other), { clock: systemClock, random: systemRandom })
    const own = readFileSync(authority(other), 'utf8')
    for (const target of [fresh, other]) expect(await at(target, 'restore', file)).toMatchObject({ status: 0 })
    expect(readFileSync(authority(fresh), 'utf8')).toBe(pem)
    expect(statSync(authority(fresh)).mode & 0o777).toBe(0o600)
    expect(readFileSync(authority(other), 'utf8')).toBe(own)
    rmSync(authority(source))
  })

  test.each(['tls/authority.pem', 'sealing.key'])('with a changed %s in it is not restored', async (name) => {
    await openAuthority(join(source, 'tls', 'authority.pem'), { clock: systemClock, random: systemRandom })
    const made = join(root, `changed-${basename(name)}.tar`)
    expect(await at(source, 'backup', made, '--with-key')).toMatchObject({ status: 0 })
    rmSync(join(source, 'tls', 'authority.pem'))
    const bytes = readFileSync(made)
    // The content of a file follows its header of 512 bytes, which begins with the name.
    const content = bytes.indexOf(name) + 512
    bytes.writeUInt8(bytes.readUInt8(content + 32) ^ 1, content + 32)
    writeFileSync(made, bytes)
    const target = newTarget()
    expect(await at(target, 'restore', made)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`the file is damaged: ${name} in it`),
    })
    expect(existsSync(join(target, 'tls')) || existsSync(join(target, 'sluice.db'))).toBe(false)
  })
})

describe('a restored server', () => {
  test('sends nothing that was waiting, and ends what was live', async () => {
    const receiver = await listen(Buffer.alloc(32, 1).toString('base64'))
    const env = { SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' }
    const run = (dir: string, ...argv: string[]) => command(['--data', dir, ...argv], { env })
    const dir = join(root, 'busy')
    const webhook = JSON.parse(
      (await run(dir, 'webhook', 'create', '--url', receiver.url, '--event', 'feeds', '--json')).stdout,
    ) as { id: number }
    execute(dir, underWay(webhook.id))
    const file = join(root, 'busy.tar')
    await run(dir, 'backup', file, '--with-key')
    const target = newTarget()
    const restored = await run(target, 'restore', file)
    expect(restored.stderr).toContain('Ended 1 sessions, and gave up 4 deliveries and events')

    const server = await serve(['--data', target], env)
    await run(target, 'webhook', 'test', '--type', 'Feeds')
    // The receiver rejects the signature of another secret; what counts is what came.
    const came = () => query(join(target, 'sluice.db'), "select id, state from deliveries where id not like 'old-%'")
    await expect.poll(() => came().map((row) => row['state'])).toEqual(['failed'])
    server.signal('SIGTERM')
    await server.ended
    receiver.signal('SIGTERM')
    expect(receiver.lines()).toHaveLength(1)
    const database = join(target, 'sluice.db')
    expect(query(database, "select state, attempt from deliveries where id like 'old-%' order by id")).toEqual(
      [1, 2, 3].map(() => ({ state: 'unknown', attempt: null })),
    )
    expect(query(database, "select end_reason from sessions where id = 's1'")).toEqual([{ end_reason: 'lost' }])
    expect(
      query(
        database,
        "select count(*) as n from feeds where ended_at_ms is null union all select count(*) from audit where action = 'backup.restore'",
      ),
    ).toEqual([{ n: 0 }, { n: 1 }])
    expect(query(database, "select node, alive_until_ms from engine_states where engine_id = 'en_1'")).toEqual([
      { node: null, alive_until_ms: null },
    ])
    expect(query(database, 'select node from ingest_claims')).toEqual([])
    expect(query(database, 'select state, host_key from recordings')).toEqual([
      { state: 'completed', host_key: hostKeyOf(target, join(target, 'recordings')) },
    ])
    const usage = `select span || ' ' || at_ms || ' ' || sum(bytes_out + cache_bytes) as sum from usage group by span, at_ms
      union all select ord from node_usage order by 1`
    const days = ['day 0 400', 'day 2678400000 200', 'hour 0 415', 'hour 2682000000 200']
    const sums = [...days, 'month 0 400', 'month 2678400000 200'].map((sum) => ({ sum }))
    expect(query(database, usage)).toEqual(sums)
  })
})

/** Deliveries in each state that leads to a sending, an event, usage of a node, a session with its feed, a recording, and a leased engine. */
const underWay = (webhookId: number): string => {
  const delivery = (id: string, state: string, attempt: string) => `
    insert into deliveries (id, event_id, webhook_id, account_id, type, event, state, created_at_ms, attempt, not_before_ms, node)
      select '${id}', '${id}', ${webhookId}, id, 'feeds', 'started', '${state}', 1, ${attempt}, 1, 'n1' from accounts;
    insert into delivery_payloads (id, data) values ('${id}', '{}');`
  return `
    ${delivery('old-1', 'pending', 'null')} ${delivery('old-2', 'waiting', '2')} ${delivery('old-3', 'started', '1')}
    insert into outbox (account_id, type, event, data, created_at_ms) select id, 'feeds', 'started', '{}', 1 from accounts;
    insert into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms) values ('n1', 'elsewhere', 1, 1, 1);
    insert into usage (account_id, span, at_ms, stream_name, protocol, token_id, tracking_id, country, bytes_in, bytes_out, cache_bytes)
      select id, 'hour', 0, 'show', 'whep', 1, '', '', 1, 10, 5 from accounts;
    insert into node_usage (node_id, ord, account_id, hour_ms, stream_name, protocol, token_id, tracking_id, country, bytes_in,
        bytes_out)
      select 'n1', column1, id, column2, 'show', 'whep', 1, '', '', 1, 100 from accounts, (values (1, 0), (2, 0), (3, 2682000000)) as row;
    insert into sessions (id, action, protocol, account_id, stream_name, address, node, started_at_ms, spare, bytes_in, bytes_out,
        cache_bytes)
      select 's1', 'publish', 'rtmp', id, 'show', '192.0.2.1', 'n1', 1, 0, 0, 0, 0 from accounts;
    insert into feeds (id, session_id, account_id, stream_name, source, token_id, secured, node, started_at_ms,
        most_viewers, bytes_out)
      select 'f1', 's1', id, 'show', '', 1, 0, 'n1', 1, 0, 0 from accounts;
    insert into recordings (id, account_id, stream_name, token_id, feed_id, state, started_at_ms, ended_at_ms, tracks, host_key, node)
      select 'r1', id, 'show', 1, 'f0', 'completed', 1, 2, '[]', 'elsewhere', 'n1' from accounts;
    insert into engine_states (engine_id, account_id, channel_id, wanted, failures, node, alive_until_ms)
      select 'en_1', id, 'ch_1', 0, 0, 'n1', 1 from accounts;
    insert into ingest_claims (ingest_id, node, connected_at_ms, since_ms, alive_until_ms) values ('in_1', 'n1', 1, 1, 1);`
}

describe('sluice restore refuses', () => {
  const file = join(root, 'small.tar')
  const dir = join(root, 'small')
  beforeAll(async () => {
    await at(dir, 'token', 'create', '--label', 'one', '--stream', 'one')
    await at(dir, 'backup', file)
  })

  /** The refusal, after which the target has no database. */
  async function refusal(backup: string, target: string): Promise<string> {
    const ran = await at(target, 'restore', backup)
    expect(ran.status).toBe(1)
    expect(readdirSync(target).filter((name) => name !== 'sealing.key')).toEqual([])
    return ran.stderr
  }

  const bytes = () => readFileSync(file)
  function changed(change: (content: Buffer) => Buffer): string {
    const other = join(root, `changed-${(count += 1)}.tar`)
    writeFileSync(other, change(bytes()))
    return other
  }

  test('a place without the key, and another key', async () => {
    expect(await refusal(file, newTarget())).toContain('put the sealing.key of that installation at')
    const target = newTarget()
    writeFileSync(join(target, 'sealing.key'), `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 })
    expect(await refusal(file, target)).toContain('is another key')
  })

  test('a file that was cut, wherever, and so does backup verify', async () => {
    for (const length of [100, 700, 50_000, bytes().length - 1500, bytes().length - 1]) {
      const cut = changed((content) => content.subarray(0, length))
      expect(await refusal(cut, newTarget(dir))).toContain(length < 512 ? 'not a backup' : 'was cut')
      expect(await at(dir, 'backup', 'verify', cut)).toMatchObject({ status: 1 })
    }
  })

  test('a file with one changed byte, and so does backup verify', async () => {
    const manifestAt = bytes().indexOf('"createdAt"')
    for (const position of [600, 40_000, manifestAt + 20]) {
      const damaged = changed((content) => {
        content[position] = (content[position] ?? 0) ^ 1
        return content
      })
      expect(await refusal(damaged, newTarget(dir))).toContain('damaged')
      expect((await at(dir, 'backup', 'verify', damaged)).stderr).toContain('damaged')
    }
    expect(await at(dir, 'backup', 'verify', file)).toMatchObject({ status: 0 })
  })

  test('a file with a second manifest, and so does backup verify', async () => {
    const twice = changed((content) => {
      const at = content.indexOf('manifest.json\0')
      // The size is octal, in the header of 512 bytes; content fills blocks of 512.
      const size = Number.parseInt(content.toString('latin1', at + 124, at + 135), 8)
      const entry = content.subarray(at, at + 512 + Math.ceil(size / 512) * 512)
      return Buffer.concat([content.subarray(0, at), entry, content.subarray(at)])
    })
    expect(await refusal(twice, newTarget(dir))).toContain('damaged')
    expect(await at(dir, 'backup', 'verify', twice)).toMatchObject({ status: 1 })
  })

  test('a backup of a newer version', async () => {
    const newer = join(root, 'newer.tar')
    const db = new DatabaseSync(join(dir, 'sluice.db'))
    db.exec(`insert into kysely_migration (name, timestamp) values ('9999_future', '2100')`)
    await at(dir, 'backup', newer)
    db.exec(`delete from kysely_migration where name = '9999_future'`)
    db.close()
    expect(await refusal(newer, newTarget(dir))).toContain('whose database is newer (it has 9999_future)')
    expect((await at(dir, 'backup', 'verify', newer)).stderr).toContain('9999_future')
  })

  test('a backup from before the first release', async () => {
    const earlier = join(root, 'earlier.tar')
    execute(dir, `insert into kysely_migration (name, timestamp) values ('0001_init', '2026')`)
    await at(dir, 'backup', earlier)
    execute(dir, `delete from kysely_migration where name = '0001_init'`)
    expect(await refusal(earlier, newTarget(dir))).toContain('from before the first release of Sluice')
    expect((await at(dir, 'backup', 'verify', earlier)).stderr).toContain('`provision export FILE`')
  })

  test('a place with a database, and names the server that runs on it', async () => {
    const target = newTarget()
    await at(target, 'account', 'list')
    expect((await at(target, 'restore', file)).stderr).toContain('there is a database already')
    const serve = (untilMs: number) =>
      execute(
        target,
        `insert or replace into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms)
          values ('n', 'here', ${process.pid}, 1, ${untilMs})`,
      )
    // Longer than any lease: the clock was ahead when it was written, and has been put back.
    serve(Date.now() + 2 * LEASE_MAX_MS)
    expect((await at(target, 'restore', file)).stderr).toContain('there is a database already')
    serve(Date.now() + LEASE_MAX_MS)
    expect((await at(target, 'restore', file)).stderr).toContain(`a server (process ${process.pid}) runs on`)
  })

  test('a place with the log of another database, which SQLite would apply', async () => {
    const target = newTarget(dir)
    writeFileSync(join(target, 'sluice.db-wal'), 'x')
    expect((await at(target, 'restore', file)).stderr).toContain('sluice.db-wal of an earlier database')
  })

  test('what is no backup, and a file that is not there', async () => {
    expect(
      await refusal(
        changed(() => Buffer.alloc(2000, 'x')),
        newTarget(dir),
      ),
    ).toContain('not a backup')
    expect(await refusal(join(root, 'nothing.tar'), newTarget(dir))).toContain('there is no file')
  })

  test('never; but sluice backup refuses to replace a file, and a directory that does not exist', async () => {
    const content = bytes()
    expect((await at(dir, 'backup', file)).stderr).toContain('exists; choose another name')
    expect(bytes()).toEqual(content)
    for (const path of [join(root, 'no', 'x.tar'), join(file, 'x.tar')])
      expect((await at(dir, 'backup', path)).stderr).toContain(`the directory of ${path} does not exist`)
  })
})

test('the next backup removes what a killed one has left', async () => {
  const file = join(root, 'again.tar')
  const left = `${file}.partial-4194305-data`
  writeFileSync(left, 'x')
  expect(await at(source, 'backup', file)).toMatchObject({ status: 0 })
  expect(readdirSync(root)).not.toContain('again.tar.partial-4194305-data')
})
