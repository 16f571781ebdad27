import { mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkPagesInThread } from '../../src/store/sqlite/inspection/inspectionThread.ts'

const PAGE_BYTES = 4096
const PAGES = 1000
const dir = mkdtempSync(join(tmpdir(), 'sluice-pages-'))
afterAll(() => rmSync(dir, { recursive: true }))

function database(name: string): string {
  const file = join(dir, name)
  const db = new DatabaseSync(file)
  db.exec('create table a (x text); create index by_x on a (x)')
  db.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
    insert into a select i || hex(zeroblob(200)) from n`)
  db.close()
  return file
}

test('each page of a SQLite file is looked at, so that damage is found before a request touches it', async () => {
  const file = database('damaged.db')
  expect(await checkPagesInThread({ file, pagesMax: PAGES })).toEqual({ state: 'sound' })
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, 20 * PAGE_BYTES)
  closeSync(descriptor)
  const found = await checkPagesInThread({ file, pagesMax: PAGES })
  expect(found).toEqual({ state: 'damaged', problem: expect.stringMatching(/page|malformed/) as string })
})

test('a large file is left alone, and one that is none is damaged', async () => {
  expect(await checkPagesInThread({ file: database('large.db'), pagesMax: 10 })).toEqual({ state: 'large' })
  const cut = join(dir, 'cut.db')
  const descriptor = openSync(cut, 'w')
  writeSync(descriptor, readFileSync(database('whole.db')).subarray(0, 3 * PAGE_BYTES))
  closeSync(descriptor)
  expect(await checkPagesInThread({ file: cut, pagesMax: PAGES })).toMatchObject({ state: 'damaged' })
})
