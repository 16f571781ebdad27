import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { World } from './world.ts'

/** On Linux a file system in memory: no world loses what the disk has, so none has to wait for it. */
const MEMORY = '/dev/shm'

/** A folder for the databases of worlds. */
export const worldsFolder = (): string => mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'sluice-sim-'))

/** Runs worlds of seeds in a row. Returns the error of the first that fails, which names its seed; null: none does. */
export async function runSeeds(folder: string, from: number, count: number): Promise<Error | null> {
  const template = join(folder, 'template.db')
  await (await openSqlite(template)).close()
  for (let seed = from; seed < from + count; seed++) {
    const own = join(folder, String(seed))
    try {
      await World.run(seed, own, template)
    } catch (error) {
      return new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    } finally {
      rmSync(own, { recursive: true, force: true })
    }
  }
  return null
}
