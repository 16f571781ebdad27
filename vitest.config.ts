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

// Unit tests share threads and modules (fast); everything that starts servers or processes is isolated by file.
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
          name: 'system',
          include: ['test/{conformance,delivery,http,commands,crash,system,e2e,media/packager}/**/*.test.ts'],
          globalSetup: ['test/support/postgres.setup.ts'],
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Conditions are waited for as long as a busy machine may need.
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
})
