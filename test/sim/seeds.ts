import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { World } from './world.ts'

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
