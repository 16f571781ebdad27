// Runs worlds by their seeds, one after another, and says which of them fails first:
//   npm run sim -- 10000 [--from 1] [--fault NAME]
// Or looks for the world that finds each of the faults in faults.ts:
//   npm run sim -- --faults
import { rmSync } from 'node:fs'
import { readCommandLine } from '../../scripts/commandLine.ts'
import { FAULTS, putIn } from './faults.ts'
import { findFault } from './findFault.ts'

const MOST = 10_000

const { positionals, values } = readCommandLine({
  allowPositionals: true,
  options: { from: { type: 'string', default: '1' }, fault: { type: 'string' }, faults: { type: 'boolean' } },
})
const count = Number(positionals[0] ?? 1000)
const isFine = values.faults ? await runFaults() : await runWorlds()
if (!isFine) process.exitCode = 1

async function runFaults(): Promise<boolean> {
  let areFound = true
  for (const fault of FAULTS) {
    const found = await findFault({ ...fault, seed: 1 }, MOST)
    const isSaid = fault.says.test(found?.said ?? '')
    areFound &&= isSaid
    const state = found === null ? 'NOT FOUND' : `${isSaid ? '' : 'ANOTHER FAULT: '}${found.said}`
    const seed = found === null || found.seed === fault.seed ? fault.seed : `${found.seed} (now ${fault.seed})`
    console.log(`seed ${seed}: ${fault.name}: ${state}`)
  }
  return areFound
}

async function runWorlds(): Promise<boolean> {
  const fault = FAULTS.find(({ name }) => name === values.fault)
  if (values.fault !== undefined) putIn(fault ?? unknownFault(values.fault))
  // Loads the sources.
  const { runSeeds, worldsFolder } = await import('./seeds.ts')
  const folder = worldsFolder()
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const startMs = performance.now()
  const failed = await runSeeds(folder, Number(values.from), count)
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  if (failed === null) console.log(`${count} seeds in ${seconds} s`)
  else console.error(failed, `after ${seconds} s`)
  return failed === null
}

function unknownFault(name: string): never {
  throw new Error(`There is no fault "${name}" in faults.ts`)
}
