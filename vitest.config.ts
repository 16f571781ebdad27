import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type TestProjectInlineConfiguration, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { type Lane, LANE_WAIT_MS, LANES, TEST_MS, WAIT_MS } from './test/lanes.ts'

/** What takes longest begins first, so that the others fill the time beside it. */
const LONG = [
  // While it runs, the other core has all others.
  /\/test\/sim\//,
  /\/test\/(fuzz\/|tidy\.|cli\/sign\.|media\/relay\/(amplification|returnPath|silence)\.)/,
  /\/test\/(system\/(cli|delivery|sessions|provision)|conformance\/engine|e2e)/,
  /\/test\/(system\/(recordings|hls|sessionBytes|streamUpdates)|http\/(dashboardEvents|refusals)|commands\/updateHub|crash)/,
]

/**
 * Units come first: a process serves the files of one project in a row. Each project is sorted by rank, and each rank by
 * the time of an earlier run, or by size.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((pattern) => pattern.test(moduleId))
  return rank === -1 ? LONG.length : rank
}

/** Beside unit tests, but of processes, of waits in real time, or of the whole repository. */
const PROCESSES = [
  'test/base/{lineWriter,processors}.test.ts',
  'test/cli/doctor*.test.ts',
  'test/media/relay/engine.test.ts',
  'test/media/mpegts/{ffmpeg,writer}.test.ts',
  'test/media/srt/targetFfmpeg.test.ts',
  'test/media/encoder/{pullInput,trial,videoEncoders}.test.ts',
  'test/hls/validator.test.ts',
  'test/mutants.test.ts',
]

const lanes = Object.entries<Lane>(LANES).filter(([, { config }]) => config === undefined)
const IN_LANES = lanes.flatMap(([, { files }]) => files)

// Hundreds of processes start from the same sources, which the first one compiles for the others.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('build/compile-cache', import.meta.url))

// What tests start speaks English, and does not complain that this machine lacks the locale of who is logged in.
process.env['LC_ALL'] = 'C.UTF-8'

/** Twice the cores of a small machine: most tests with servers wait half of the time. */
const AT_ONCE = 4

/** As long as a slow machine may need: what passes does not wait for them. */
const LIMITS = { testTimeout: TEST_MS, hookTimeout: TEST_MS, expect: { poll: { timeout: WAIT_MS } } }

/** Builds the program that processes of tests run. */
const PROGRAM = 'test/support/program.setup.ts'

/** Of tests with servers and browsers. A red test is a fault: none gets a second try. */
const WITH_SERVERS = {
  globalSetup: [PROGRAM],
  pool: 'forks' as const,
  // To load the program takes longer than most of these files: each process does it once.
  isolate: false,
  ...LIMITS,
}

const POSTGRES = { globalSetup: ['test/support/postgres.setup.ts', PROGRAM] }

/** @param at among the lanes: each has its own number of workers, so that they cannot run together in one run. */
const projectOf = ([name, lane]: [string, Lane], at: number): TestProjectInlineConfiguration => ({
  test: {
    name,
    include: [...lane.files, ...(lane.shared ?? [])],
    ...WITH_SERVERS,
    ...(lane.postgres ? POSTGRES : {}),
    ...(lane.env ? { env: lane.env } : {}),
    // Each look costs a browser time.
    expect: { poll: { timeout: LANE_WAIT_MS, interval: 100 } },
    maxWorkers: lane.workers,
    sequence: { groupOrder: 2 + at },
  },
})

// Files share modules, so that what a file changes in them (a spy, a variable of the environment) it has to put back.
// Unit tests share threads too; what starts servers or processes does so from processes of its own.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Node imports the sources itself, as it does for `npm start`. To transform them for each project would cost minutes.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{app,base,config,core,edge,fuzz,cli,hls,net,services,sim,store,web}/**/*.test.ts',
            'test/media/{*,{codecs,convert,encoder,mpegts,relay,rtmp,rtsp,srt,transcoder}/**/*}.test.ts',
            'test/*.test.ts',
          ],
          exclude: [...PROCESSES, ...IN_LANES],
          pool: 'threads',
          isolate: false,
          ...LIMITS,
          // They wait for nothing, and each thread loads the program anew.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'system',
          include: [
            'test/{conformance,delivery,http,commands,crash,e2e,system,media/{ffmpeg,hls,measure,recordings,slate}}/**/*.test.ts',
            ...PROCESSES,
          ],
          exclude: IN_LANES,
          ...WITH_SERVERS,
          ...POSTGRES,
          env: { TEST_STORES: 'sqlite' },
          maxWorkers: AT_ONCE,
          sequence: { groupOrder: 1 },
        },
      },
      ...lanes.map(projectOf),
    ],
  },
})
