// Runs seeds one after another, and says which of them fails first:
//   npm run sim -- 10000 [--from 1]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runSeeds } from './seeds.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string', default: '1' } },
})
const folder = mkdtempSync(join(tmpdir(), 'sluice-sim-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const startMs = performance.now()
const count = Number(positionals[0] ?? 1000)
const failed = await runSeeds(folder, Number(values.from), count)
console.log(`${count} seeds in ${((performance.now() - startMs) / 1000).toFixed(1)} s`)
if (failed !== null) {
  console.error(failed)
  process.exitCode = 1
}
