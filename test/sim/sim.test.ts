import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { FAULTS, withFault } from './faults.ts'
import { runSeeds, worldsFolder } from './seeds.ts'
import { World } from './world.ts'

const folder = worldsFolder()
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Of these seeds. `npm run sim -- 10000` runs more, and `npm run sim -- 1 --from SEED` one again. */
const [TESTS, SEEDS] = [6, 50]

test.each(Array.from({ length: TESTS }, (_, at) => 1 + at * SEEDS))(
  `nodes that stall, die and lose answers keep every promise in ${SEEDS} worlds, from seed %i on`,
  async (first) => {
    const failed = await runSeeds(folder, first, SEEDS)
    if (failed !== null) throw failed
  },
)

test('the same seed is the same world', async () => {
  const template = join(folder, 'again.db')
  await (await openSqlite(template)).close()
  const run = (name: string): Promise<string> => World.run(7, join(folder, name), template)
  expect(await run('once')).toBe(await run('again'))
})

test('the place of each fault that worlds have to find is there, once', () => {
  for (const fault of FAULTS) expect(() => withFault(readFileSync(fault.file, 'utf8'), fault)).not.toThrow()
})
