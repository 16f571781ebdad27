/**
 * Durable token creates: 32 concurrent callers of `store.transaction` against raw prepared inserts of the same rows, 32
 * creates per commit, both on SQLite at synchronous=full. Prints the ratio of the medians of interleaved slices, and
 * the same ratio for the whole command, which also validates the body and generates, hashes and seals the value.
 *
 *   node bench/token-create.ts
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { formatActor } from '../src/core/actor.ts'
import { mapFlags, TOKEN_FLAGS } from '../src/core/tokens/flags.ts'
import { createToken } from '../src/commands/tokens/createToken.ts'
import { openStore } from '../src/store/open.ts'
import type { AuditRow, Store, StoredToken } from '../src/store/store.ts'
import { runApp } from '../test/support/app.ts'
import { rowOf } from '../src/store/records.ts'
import { namesWithout } from '../src/store/schema.ts'
import { toTokenValues } from '../src/store/tables/tokenRow.ts'
import { median, report } from './lib/report.ts'

const CALLERS = 32
const SLICES = 21
const SLICE_MS = 150
const TARGET = 0.6
const COMMAND_TARGET = 0.5

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const log = { info: () => undefined, warn: console.warn, error: console.error }

const store = await openStore({ url: join(folder, 'store.db'), log })
const raw = await openRaw(join(folder, 'raw.db'))

await throughStore(store, SLICE_MS)
throughRaw(raw, SLICE_MS)
const sluice = await runApp()
const rates: { store: number; raw: number; command: number }[] = []
for (let slice = 0; slice < SLICES; slice += 1) {
  rates.push({
    store: await throughStore(store, SLICE_MS),
    raw: throughRaw(raw, SLICE_MS),
    command: await throughCommand(SLICE_MS),
  })
}
await sluice.close()
await store.close()
raw.db.close()
rmSync(folder, { recursive: true })

const perSecond = (of: 'store' | 'raw' | 'command'): string =>
  `${Math.round(median(rates.map((rate) => rate[of])))} a second`
const against = (of: 'store' | 'command', what: string, target: number): void => {
  const ratio = median(rates.map((rate) => rate[of] / rate.raw))
  const detail = `${perSecond(of)} by ${CALLERS} callers, against ${perSecond('raw')}`
  report({ what, ratio, target: `>= ${target}`, met: ratio >= target, detail })
}
against('store', 'durable token creates in the store, of raw prepared inserts', TARGET)
against('command', 'durable token creates by the whole command, of raw prepared inserts', COMMAND_TARGET)

/** Creates per second when callers wait for each create before the next one. */
async function throughStore(store: Store, forMs: number): Promise<number> {
  const startedAt = performance.now()
  let created = 0
  const caller = async () => {
    while (performance.now() - startedAt < forMs) {
      await create(store)
      created += 1
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return (created / (performance.now() - startedAt)) * 1000
}

async function throughCommand(forMs: number): Promise<number> {
  const { accountId } = sluice
  const actor = { kind: 'secret', id: 1, accountId, address: '192.0.2.10', requestId: 'req-1k' } as const
  const body = {
    label: 'camera',
    streams: [{ streamName: 'camera-1' }],
    allowedOrigins: ['https://studio.example.org'],
  }
  const startedAt = performance.now()
  let created = 0
  const caller = async () => {
    while (performance.now() - startedAt < forMs) {
      const made = await createToken(sluice.app.ctx, actor, 'publish', body)
      if (!made.ok) throw new Error(JSON.stringify(made.error))
      created += 1
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return (created / (performance.now() - startedAt)) * 1000
}

function create(store: Store): Promise<StoredToken> {
  return store.transaction(async (tx) => {
    const token = await tx.tokens.insert(newToken())
    await tx.audit.append(auditOf(token.id))
    await tx.changes.append({ kind: 'token', accountId: token.accountId, id: token.id, atMs: token.addedAtMs })
    return token
  })
}

function throughRaw({ insertCreate, db }: Awaited<ReturnType<typeof openRaw>>, forMs: number): number {
  const startedAt = performance.now()
  let created = 0
  while (performance.now() - startedAt < forMs) {
    db.exec('begin immediate')
    for (let n = 0; n < CALLERS; n += 1) insertCreate()
    db.exec('commit')
    created += CALLERS
  }
  return (created / (performance.now() - startedAt)) * 1000
}

/** The same schema, written directly. */
async function openRaw(file: string) {
  await openStore({ url: file, log }).then((opened) => opened.close())
  const db = new DatabaseSync(file)
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -65536')
  const columns = namesWithout('tokens', 'id')
  const insert = (table: string, names: readonly string[]) =>
    db.prepare(`insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
  const token = insert('tokens', columns)
  const stream = insert('token_streams', ['token_id', 'ord', 'account_id', 'kind', 'stream_name', 'is_regex'])
  const audit = insert('audit', [
    'account_id',
    'at_ms',
    'actor',
    'address',
    'request_id',
    'action',
    'subject',
    'before',
    'after',
  ])
  const change = insert('changes', ['kind', 'account_id', 'ref_id', 'at_ms'])
  const insertCreate = () => {
    const values = rowOf('tokens', columns, toTokenValues({ ...newToken(), version: 1 }))
    const id = Number(token.run(...Object.values(values)).lastInsertRowid)
    stream.run(id, 1, values.account_id, values.kind, 'camera-1', 0)
    const row = auditOf(id)
    audit.run(
      row.accountId,
      row.atMs,
      formatActor(row.actor),
      row.address,
      row.requestId,
      row.action,
      row.subject,
      null,
      row.after,
    )
    change.run('token', values.account_id, id, values.added_at_ms)
  }
  return { db, insertCreate }
}

function newToken(): Omit<StoredToken, 'id' | 'version'> {
  const random = randomBytes(92)
  return {
    kind: 'publish',
    accountId: 'k9qd2x',
    label: `camera ${random.toString('hex', 0, 4)}`,
    streams: [{ streamName: 'camera-1', isRegex: false }],
    isActive: true,
    allowedOrigins: ['https://studio.example.org'],
    allowedIpAddresses: [],
    bindIpsOnUsage: 0,
    allowedCountries: [],
    deniedCountries: [],
    ...mapFlags(TOKEN_FLAGS, (_name, { byDefault }) => byDefault),
    originCluster: '',
    geoCascade: null,
    priority: null,
    hlsRenditions: [],
    hlsCodecs: 'h264',
    restream: [],
    trackingId: null,
    maxViewers: 0,
    recordingDays: null,
    addedAtMs: Date.now(),
    expiresAtMs: null,
    revokedBeforeMs: null,
    valueHash: random.subarray(0, 32),
    valueSealed: random.subarray(32),
  }
}

function auditOf(id: number): AuditRow {
  return {
    accountId: 'k9qd2x',
    atMs: Date.now(),
    actor: { kind: 'secret', id: 1 },
    address: '192.0.2.10',
    requestId: 'req-1k',
    action: 'publish_token.create',
    subject: `publish_token:${id}`,
    before: null,
    after: '{"label":"camera","streams":[{"streamName":"camera-1","isRegex":false}],"isActive":true}',
  }
}
