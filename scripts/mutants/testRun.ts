// A process of its own, so that a mutant that never returns can be killed. Its folder is the copy that is mutated. It runs the
// tests that it is asked for, and answers whether they pass and which one failed first. With `rerun` each test is run again with
// each of its mutants, see `rerun.ts`.
import { resolve } from 'node:path'
import { createVitest, type Vitest } from 'vitest/node'
import type { Answer, Request } from './messages.ts'

const isRerun = process.argv.includes('rerun')
const vitest = await createVitest({
  root: process.cwd(),
  config: false,
  watch: false,
  include: ['test/**/*.test.ts'],
  pool: 'threads',
  isolate: false,
  // Files come in the order of the request, the nearest first, and the first failure is enough.
  maxWorkers: 1,
  ...(isRerun ? { runner: resolve('scripts/mutants/rerun.ts') } : { bail: 1 }),
  reporters: [{}],
  testTimeout: 30_000,
  provide: { postgresUrl: null },
  sequence: {
    sequencer: class {
      sort = <T>(files: T[]): T[] => files
      shard = <T>(files: T[]): T[] => files
    },
  },
})
process.on('message', (request: Request) => void answer(vitest, request).then((it) => process.send?.(it)))
process.on('disconnect', () => process.exit())
process.send?.({ failed: null, ms: 0 } satisfies Answer)

async function answer(host: Vitest, { changed, tests }: Request): Promise<Answer> {
  const startedAtMs = performance.now()
  for (const path of changed) host.invalidateFile(resolve(path))
  // Failures of earlier runs count for `bail` as well, and would end this one.
  host.state.filesMap.clear()
  host.state.idMap.clear()
  const project = host.getRootProject()
  const run = await host.runTestSpecifications(tests.map((path) => project.createSpecification(resolve(path))))
  const module = run.testModules.find((one) => one.state() === 'failed')
  const test = module && [...module.children.allTests('failed')][0]
  const failed = test?.fullName ?? module?.relativeModuleId ?? (run.unhandledErrors.length > 0 ? 'an error' : null)
  return { failed, ms: performance.now() - startedAtMs }
}
