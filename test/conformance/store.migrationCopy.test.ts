import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ok } from '../../src/base/result.ts'
import { withBackupFile } from '../../src/store/backup/backupFile.ts'
import { NoMigrationCopy } from '../../src/store/backup/migrationCopy.ts'
import { openStore } from '../../src/store/open.ts'
import { addLaterMigration, LATER, removeLaterMigration } from './store.later.ts'
import { expectConcurrentOpens } from './store.opening.ts'
import { quiet } from './store.samples.ts'

beforeAll(addLaterMigration)
afterAll(removeLaterMigration)

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-copy-'))
  file = join(folder, 'sluice.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const copies = 'backups'
const found = (): string[] => readdirSync(join(folder, copies)).toSorted()

async function open(keep: number): Promise<void> {
  await openStore({ url: file, log: quiet, copies: { keep, version: '1.2.3' } }).then((store) => store.close())
}

function execute(sql: string): void {
  const db = new DatabaseSync(file)
  db.exec(sql)
  db.close()
}

/** The database as the version before the last migration wrote it. */
const downgrade = (): void =>
  execute(`drop table "${LATER}"; delete from kysely_migration where name = '${LATER}';
    insert into accounts (id, name, created_at_ms, allowed_countries, denied_countries, log_admissions, version)
    values ('a${Math.random()}', 'before', 1, '[]', '[]', 0, 0)`)

test('a new database and one that is up to date get no copy', async () => {
  await open(2)
  await open(2)
  expect(readdirSync(folder)).not.toContain('backups')
})

test('a database is copied before it is migrated, and the last two copies are kept', async () => {
  await open(2)
  const schemas: number[] = []
  for (let round = 0; round < 3; round += 1) {
    downgrade()
    await open(2)
    schemas.push(found().length)
    // As a process that was killed leaves it; the next one removes it.
    if (round < 2) writeFileSync(join(folder, copies, 'before-killed.tar.partial-1-data'), '')
  }
  expect(schemas).toEqual([1, 2, 2])
  const [, last = ''] = found()
  expect(last).toMatch(/^before-\d{8}T\d{6}\.\d{3}Z-0099_later\.tar$/)
  const path = join(folder, copies, last)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const manifest = await withBackupFile(path, async (backup) => {
    expect(await backup.check()).toEqual(ok(undefined))
    return ok(backup.manifest)
  })
  expect(manifest).toMatchObject({ ok: true, value: { accounts: 3 } })
  expect(manifest.ok && manifest.value.schema).not.toContain(LATER)
})

test('processes that start together make one copy', async () => {
  await open(0)
  downgrade()
  await Promise.all([open(2), open(2), expectConcurrentOpens(file, 'later')])
  expect(readdirSync(folder).includes('backups') ? found().length : 0).toBeLessThanOrEqual(1)
})

/** Refused, and still the database of the version before. */
async function expectNoMigration(message: string | RegExp): Promise<void> {
  const opening = open(2)
  await expect(opening).rejects.toBeInstanceOf(NoMigrationCopy)
  await expect(opening).rejects.toThrow(message)
  await expect(opening).rejects.toThrow('set storage.migrationCopies to 0')
  const db = new DatabaseSync(file)
  expect(db.prepare('select name from kysely_migration where name = ?').all(LATER)).toEqual([])
  db.close()
}

test('without a copy there is no migration, unless the operator wants none', async () => {
  await open(2)
  downgrade()
  writeFileSync(join(folder, copies), 'no directory')
  await expectNoMigration('no backup of it could be made first')
  await open(0)
})

test('a disk without room for a copy is named, with the room that it needs', async ({ skip }) => {
  if (!mountSmallDisk(folder)) return skip('no file system could be mounted')
  try {
    await open(2)
    downgrade()
    await expectNoMigration(/has \d+ MB left, and this needs \d+ MB/)
  } finally {
    execFileSync('umount', ['--lazy', folder])
  }
})

/** Only root can, and not in every container. */
function mountSmallDisk(at: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', at], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
