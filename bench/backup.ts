/**
 * A backup of a SQLite database of a gigabyte while 8 callers write to it: how long it takes, and the p99 of a durable write
 * during it, as a ratio to the p99 of the same callers before it.
 *
 *   node bench/backup.ts [MEGABYTES]
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openStore } from '../src/store/open.ts'
import { p99, report } from './lib/report.ts'

const MEGABYTES = Number(process.argv[2] ?? 1000)
const CALLERS = 8
const BEFORE_MS = 5000
/** For a gigabyte. */
const LIMIT_S = 10
const TARGET = 2

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const file = join(folder, 'sluice.db')
const store = await openStore({ url: file, log: { info: () => undefined, warn: console.warn, error: console.error } })
fill(MEGABYTES)

const times: number[] = []
const over = new AbortController()
const callers = Array.from({ length: CALLERS }, async () => {
  while (!over.signal.aborted) {
    const startMs = performance.now()
    await store.ping()
    times.push(performance.now() - startMs)
  }
})
await new Promise((resolve) => setTimeout(resolve, BEFORE_MS))
const before = p99(times.splice(0))
const startMs = performance.now()
const program = fileURLToPath(new URL('../src/main.ts', import.meta.url))
await promisify(execFile)(process.execPath, [program, 'backup', join(folder, 'backup.tar'), '--data', folder])
const seconds = (performance.now() - startMs) / 1000
const during = p99(times.splice(0))
over.abort()
await Promise.all(callers)
await store.close()

const megabytes = Math.round(statSync(join(folder, 'backup.tar')).size / 1_000_000)
rmSync(folder, { recursive: true })
const share = (seconds * 1000) / (LIMIT_S * megabytes)
report({
  what: `backup, of ${LIMIT_S} s for a gigabyte`,
  ratio: share,
  target: '<= 1',
  met: share <= 1,
  detail: `${megabytes} MB in ${seconds.toFixed(1)} s`,
})
report({
  what: 'p99 of the store during a backup / before it',
  ratio: during / before,
  target: `<= ${TARGET}`,
  met: during / before <= TARGET,
  detail: `${during.toFixed(1)} and ${before.toFixed(1)} ms, ${CALLERS} callers`,
})

/** Rows of the audit log, which is what grows. */
function fill(megabytesWanted: number): void {
  const db = new DatabaseSync(file)
  db.exec('pragma synchronous = off')
  const insert = db.prepare(
    "insert into audit (account_id, at_ms, actor, action, subject, after) values ('bench', ?, 'cli', 'bench', ?, ?)",
  )
  for (let at = 0; at < megabytesWanted; at += 1) {
    db.exec('begin')
    for (let n = 0; n < 500; n += 1) insert.run(at, String(n), randomBytes(950).toString('hex'))
    db.exec('commit')
  }
  db.close()
}
