import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that the others fill the time beside it; the others by their size, as is usual. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean => /\/test\/crash\//.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

const SERVERS = {
  globalSetup: ['test/support/postgres.setup.ts'],
  pool: 'forks' as const,
  // To load the program takes longer than most of these files: each process does it once.
  isolate: false,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // Conditions are waited for as long as a busy machine may need.
  expect: { poll: { timeout: 20_000 } },
}

// Files share modules, so that what a file changes in them (a spy, a variable of the environment) it has to put back.
// Unit tests share threads too; what starts servers or processes does so from processes of its own.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'test/{base,config,core,fuzz,cli}/**/*.test.ts',
            'test/media/{*,{wire,rtmp,relay}/**/*}.test.ts',
            'test/*.test.ts',
          ],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...SERVERS,
          name: 'system',
          include: ['test/{conformance,delivery,http,commands,crash,system,media/packager}/**/*.test.ts'],
          // More than there are cores here: most of these tests wait most of the time.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...SERVERS,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          // A browser that gets too little of the processor shows it as bad media.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
