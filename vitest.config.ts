import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that the others fill the time beside it. */
const LONG = [
  /\/test\/(fuzz\/|(mutants|tidy)\.|cli\/sign\.|media\/relay\/(amplification|returnPath|silence)\.)/,
  /\/test\/crash\//,
  /\/test\/(system\/(channels|churn|transcoder|recordings|hls|pullGuard|docs)|e2e\/(channel|player|playerFirefox|hlsPlayers))\./,
  /\/test\/system\/(overload|channelFailover|sessionBytes|warm|npmStart|streamUpdates|cluster)\./,
]
/** WebRTC media suffers when other tests want the processor: it comes when channels and their encoders are through. */
const DELICATE = /\/test\/e2e\/(loss|webrtc|transport)\./

/**
 * Units come first: a process serves the files of one project in a row. Each project is sorted by rank, and each rank by
 * the time of an earlier run, or by size. Files with browsers are spread over the run: they need most of the processor.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const of = (name: string) =>
      sorted.filter(({ project }) => project.name === name).toSorted((a, b) => rankOf(a) - rankOf(b))
    const system = of('system')
    const isBrowser = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/test/e2e/')
    const spread = between(
      system.filter((file) => !isBrowser(file)),
      delicateLate(system.filter(isBrowser)),
    )
    const others = sorted.filter(({ project: { name } }) => name !== 'unit' && name !== 'system')
    return [...of('unit'), ...spread, ...others]
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((pattern) => pattern.test(moduleId))
  return rank === -1 ? LONG.length : rank
}

/** The delicate files after two thirds of the others: not last, because they wait most of the time. */
function delicateLate(files: readonly TestSpecification[]): TestSpecification[] {
  const isDelicate = ({ moduleId }: TestSpecification): boolean => DELICATE.test(moduleId)
  const others = files.filter((file) => !isDelicate(file))
  return others.toSpliced(Math.ceil((others.length * 2) / 3), 0, ...files.filter(isDelicate))
}

/** Both lists in their order, the second one at even distances in the first. */
function between<T>(many: readonly T[], few: readonly T[]): T[] {
  const placed = few.map((one, at) => ({ one, at: ((at + 0.5) * many.length) / few.length }))
  return [...many.map((one, at) => ({ one, at })), ...placed].sort((a, b) => a.at - b.at).map(({ one }) => one)
}

/** Beside unit tests, but of processes. */
const PROCESSES = ['test/media/relay/engine.test.ts']

/** Twice the cores of a small machine: most tests with servers wait half of the time. */
const AT_ONCE = 4

// Files share modules, so that what a file changes in them (a spy, a variable of the environment) it has to put back.
// Unit tests share threads too; what starts servers or processes does so from processes of its own.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // The dashboard's operations, which the setup makes from the OpenAPI documents.
        resolve: { alias: { '#api': fileURLToPath(new URL('build/web-api', import.meta.url)) } },
        test: {
          name: 'unit',
          include: [
            'test/{base,config,core,fuzz,cli,hls,services,store,web}/**/*.test.ts',
            'test/media/{*,{codecs,convert,relay,rtmp}/**/*}.test.ts',
            'test/*.test.ts',
          ],
          exclude: PROCESSES,
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
          maxWorkers: AT_ONCE,
        },
      },
      {
        test: {
          name: 'system',
          include: [
            'test/{conformance,delivery,http,commands,crash,e2e,system,media/{ffmpeg,hls,recordings}}/**/*.test.ts',
            ...PROCESSES,
          ],
          globalSetup: ['test/support/postgres.setup.ts'],
          pool: 'forks',
          // To load the program takes longer than most of these files: each process does it once.
          isolate: false,
          // Hundreds of processes start from the same sources, which the first one compiles for the others.
          env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'sluice-compile-cache') },
          // As long as a busy machine may need, for a test and for a condition in it.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          maxWorkers: AT_ONCE,
        },
      },
    ],
  },
})
