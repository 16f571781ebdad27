import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const REPLACEMENT = fileURLToPath(new URL('sanitized.ts', import.meta.url))

// What runs the code of native/, with addons that find invalid accesses to memory. They make it two to five times slower.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    experimental: { viteModuleRunner: false, nodeLoader: false },
    include: [
      'test/addons/*.test.ts',
      'test/http/{hlsFastPath,playbackFastPath,requestHead,splice,spliceAddon,watchedConnections}.test.ts',
      'test/media/relay/{fanoutNative,nativeParts,socket,udpNative,worker}.test.ts',
    ],
    pool: 'forks',
    execArgv: ['--import', REPLACEMENT],
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
