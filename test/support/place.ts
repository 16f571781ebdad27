import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshDatabase } from './postgres.ts'

/** The location of a store of one database. */
export interface Place {
  url: string
  remove(): Promise<void>
}

export async function newPlace(engine: 'SQLite' | 'PostgreSQL'): Promise<Place> {
  if (engine === 'PostgreSQL') {
    const database = await freshDatabase()
    return { url: database.url, remove: database.drop }
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hooks-'))
  return { url: join(folder, 'sluice.db'), remove: async () => rmSync(folder, { recursive: true }) }
}
