import { defineConfig } from 'vitest/config'

// Unit tests share threads and modules (fast); everything that starts servers or processes is isolated by file.
export default defineConfig({
  test: {
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
