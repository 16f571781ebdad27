import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ActorIdentity } from '../../src/core/actor.ts'
import { openStore } from '../../src/store/open.ts'
import { auditRow, quiet } from '../conformance/store.samples.ts'

const ACTORS: readonly ActorIdentity[] = [
  { kind: 'secret', id: 3 },
  { kind: 'credential', id: 4 },
  { kind: 'user', id: 5 },
  { kind: 'cli' },
]

test('an audit row has its actor as text in the database, as in earlier versions, and is read back as it was', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  const url = join(dir, 'sluice.db')
  const store = await openStore({ url, log: quiet })
  for (const actor of ACTORS) {
    await store.transaction((tx) => tx.audit.append({ ...auditRow('abc123', 'x'), actor }))
  }
  expect((await store.read.audit.recent('abc123', 10)).map(({ actor }) => actor)).toEqual(ACTORS.toReversed())
  await store.close()
  const raw = new DatabaseSync(url)
  const texts = raw.prepare('select actor from audit order by id').all()
  raw.close()
  rmSync(dir, { recursive: true })
  expect(texts.map(({ actor }) => actor)).toEqual(['secret:3', 'credential:4', 'user:5', 'cli'])
})
