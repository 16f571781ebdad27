import { defineConfig } from 'vitest/config'

// Apart from the other tests: these build and install packages, which takes minutes, root and programs of Debian.
export default defineConfig({
  test: {
    include: ['test/packaging/*.test.ts'],
    globalSetup: ['test/packaging/build.setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
})
