import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { SEALED_COLUMNS } from '../../src/core/sealed.ts'
import { openStore } from '../../src/store/open.ts'

test('every sealed column of the schema is in the list that rotations and restores use', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sealed-'))
  const file = join(folder, 'sluice.db')
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await openStore({ url: file, log }).then((store) => store.close())
  const db = new DatabaseSync(file)
  const found = db
    .prepare(
      `select m.name as "table", c.name as "column" from sqlite_master m, pragma_table_info(m.name) c
        where m.type = 'table' and c.name like '%sealed%'`,
    )
    .all()
  db.close()
  rmSync(folder, { recursive: true })
  const listed = Object.values(SEALED_COLUMNS).map(({ table, column }) => `${table}.${column}`)
  expect(found.map((row) => `${String(row['table'])}.${String(row['column'])}`).toSorted()).toEqual(listed.toSorted())
})
