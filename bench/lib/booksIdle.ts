import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { SEALING_KEY } from '../../test/support/sealingKey.ts'
import { endServers, newDirectory, serve } from '../../test/system/cliProcess.ts'
import { report } from './report.ts'

/** Servers have begun all that they do after their start. */
const SETTLED_MS = 10_000
const WATCHED_MS = 60_000
/** PostgreSQL counts the transactions of a connection when it has been idle for a second. */
const COUNTED_MS = 2_000

/** Transactions of idle servers, as PostgreSQL counts them. @param url of its administration */
export async function measureIdle(url: string, nodes: number): Promise<void> {
  const admin = new Client({ connectionString: url })
  await admin.connect()
  await admin.query('create database idle')
  const folders = Array.from({ length: nodes }, newDirectory)
  const env = {
    SLUICE_STORAGE_URL: Object.assign(new URL(url), { pathname: '/idle' }).href,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
  }
  try {
    // One after another: the first one makes the schema.
    for (const folder of folders) await serve(['--data', folder], env)
    await sleep(SETTLED_MS)
    const [before, sinceMs] = [await transactions(admin), performance.now()]
    await sleep(WATCHED_MS)
    const passedMs = performance.now() - sinceMs
    await sleep(COUNTED_MS)
    const each = (((await transactions(admin)) - before) * 1000) / (passedMs + COUNTED_MS) / nodes
    report({
      what: 'transactions a second of an idle node, of 4',
      ratio: each / 4,
      target: 'at most 1',
      met: each <= 4,
      detail: `${each.toFixed(2)}; ${nodes} nodes, ${(passedMs / 1000).toFixed(0)} s`,
    })
  } finally {
    endServers()
    await admin.end()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

/** This asks over another database, so that it does not count itself. */
async function transactions(admin: Client): Promise<number> {
  const { rows } = await admin.query<{ n: string }>(
    `select xact_commit + xact_rollback as n from pg_stat_database where datname = 'idle'`,
  )
  return Number(rows[0]?.n)
}
