import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that the others fill the time beside it. */
const LONG = [
  /\/test\/(fuzz\/|tidy\.|cli\/sign\.|media\/relay\/(amplification|returnPath|silence)\.)/,
  /\/test\/crash\//,
  /\/test\/(system\/(churn|transcoder|cli|delivery|channels|docs)|e2e\/(player|hlsPlayers|loss))\./,
  /\/test\/system\/(recordings|hls|sessionBytes|warm|npmStart|streamUpdates|cluster)\./,
]
const inBrowsers = (...names: string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`)

/** Smooth video suffers when other tests want the processor: it is tested last, in two files at once. */
const DELICATE = inBrowsers('webrtc', 'transport')
/** Other players, browsers, WebRTC stacks and caches, and networks that lose packets: `npm run test:interop`. */
const INTEROP = [
  ...inBrowsers(
    'channel',
    'hlsPlayers',
    'channelPlayers',
    'playerFirefox',
    'firefox',
    'dashboard/firefox',
    'clients',
    'turn',
    'loss',
    'serverKilled',
  ),
  'test/system/hlsCaches.test.ts',
]

/** The dashboard in a real browser: `npm run test:dashboard`. */
const DASHBOARD = ['test/e2e/dashboard/*.test.ts']

/** Streams that a validator watches, or ffmpeg encodes, for up to a minute each: `npm run test:streams`. */
const STREAMS = [
  'test/system/{channels,channelFailover,channelHls,channelSlate,encoderNodes,feedHls,feedLadder}.test.ts',
  'test/system/{hardwareEncoder,hlsRestart,overload,pullGuard,transcoder}.test.ts',
  'test/media/{hls/{feedLadder,feedStream},encoder/bitrates}.test.ts',
]

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
      system.filter(isBrowser),
    )
    const others = sorted.filter(({ project: { name } }) => name !== 'unit' && name !== 'system')
    return [...of('unit'), ...spread, ...others]
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((pattern) => pattern.test(moduleId))
  return rank === -1 ? LONG.length : rank
}

/** Both lists in their order, the second one at even distances in the first. */
function between<T>(many: readonly T[], few: readonly T[]): T[] {
  const placed = few.map((one, at) => ({ one, at: ((at + 0.5) * many.length) / few.length }))
  return [...many.map((one, at) => ({ one, at })), ...placed].sort((a, b) => a.at - b.at).map(({ one }) => one)
}

/** Beside unit tests, but of processes, of waits in real time, or of the whole repository. */
const PROCESSES = [
  'test/base/{keyfile,lineWriter,processors}.test.ts',
  'test/cli/doctor*.test.ts',
  'test/media/relay/engine.test.ts',
  'test/media/encoder/{pullInput,trial,videoEncoders}.test.ts',
  'test/hls/validator.test.ts',
  'test/mutants.test.ts',
]

// Hundreds of processes start from the same sources, which the first one compiles for the others.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'sluice-compile-cache')

/** Twice the cores of a small machine: most tests with servers wait half of the time. */
const AT_ONCE = 4

/** Of tests with servers and browsers. */
const WITH_SERVERS = {
  pool: 'forks' as const,
  // To load the program takes longer than most of these files: each process does it once.
  isolate: false,
  // As long as a busy machine may need, for a test and for a condition in it.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
  // In CI other programs may want the processor. Its last lines name what was tried twice. What a kill loses is lost:
  // hundreds of rounds in a row get one try.
  retry: process.env['CI'] && !process.env['CRASH_ROUNDS'] ? 1 : 0,
}

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
            'test/{base,config,core,fuzz,cli,hls,services,store,web}/**/*.test.ts',
            'test/media/{*,{codecs,convert,encoder,relay,rtmp}/**/*}.test.ts',
            'test/*.test.ts',
          ],
          exclude: [...PROCESSES, ...STREAMS],
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
          // They wait for nothing, and each thread loads the program anew.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'system',
          include: [
            'test/{conformance,delivery,http,commands,crash,e2e,system,media/{ffmpeg,hls,recordings,slate}}/**/*.test.ts',
            ...PROCESSES,
          ],
          exclude: [...DELICATE, ...INTEROP, ...DASHBOARD, ...STREAMS],
          globalSetup: ['test/support/postgres.setup.ts'],
          ...WITH_SERVERS,
          maxWorkers: AT_ONCE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'delicate',
          include: DELICATE,
          ...WITH_SERVERS,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: 'interop',
          include: INTEROP,
          ...WITH_SERVERS,
          // Each measures what a player shows, or what a network loses: beside another file the processor would decide.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'dashboard',
          include: DASHBOARD,
          exclude: INTEROP,
          ...WITH_SERVERS,
          // Each keeps a browser busy, and those that broadcast a core of their own.
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: 'streams',
          include: STREAMS,
          globalSetup: ['test/support/postgres.setup.ts'],
          ...WITH_SERVERS,
          maxWorkers: 2,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
})
