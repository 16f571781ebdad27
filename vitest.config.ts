import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that the others fill the time beside it. */
const LONG = /\/test\/(crash\/|(system|e2e)\/(channels?|churn)\.)/
/** Pictures of WebRTC suffer when others want the processor: they come when channels and their encoders are through. */
const DELICATE = [/\/test\/e2e\/loss\./, /\/test\/e2e\/(webrtc|transport)\./]

/** By rank, and within a rank by size, as is usual. Units come first: a process serves the files of one project in a row. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      if (project.name === 'unit') return 0
      if (LONG.test(moduleId)) return 1
      return 3 + DELICATE.findIndex((pattern) => pattern.test(moduleId))
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** More than there are cores: most tests with servers wait most of the time. */
const AT_ONCE = 3

const SERVERS = {
  globalSetup: ['test/support/postgres.setup.ts'],
  pool: 'forks' as const,
  // To load the program takes longer than most of these files: each process does it once.
  isolate: false,
  // As long as a busy machine may need, for a test and for a condition in it.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 30_000 } },
}

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
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
          maxWorkers: AT_ONCE,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...SERVERS,
          name: 'system',
          include: [
            'test/{conformance,delivery,http,commands,crash,system,media/{ffmpeg,hls,recordings}}/**/*.test.ts',
          ],
          maxWorkers: AT_ONCE,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...SERVERS,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          // A browser that gets too little of the processor shows it as bad media.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
