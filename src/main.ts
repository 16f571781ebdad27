import { constants, setPriority } from 'node:os'
import type { App } from './app/app.ts'
import { processWorld } from './cli/process.ts'
import { runCli } from './cli/run.ts'
import { loadConfig } from './config/load.ts'
import { VERSION } from './base/version.ts'

// The rooms are loaded when a command asks for them: help and a mistyped flag are answered without.
const app = (): Promise<typeof import('./app/app.ts')> => import('./app/app.ts')

/** A backup takes the processor and the disk only when servers on this machine leave them. */
function yieldToServers(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // A sandbox may forbid it; then the backup runs as it is.
  }
}

process.exitCode = await runCli(process.argv.slice(2), {
  ...processWorld(),
  version: VERSION,
  loadConfig,
  openApp: async (options) => (await app()).openApp(options),
  // It gets back what `openApp` opened.
  startServing: async (opened, reloading) =>
    (await import('./app/server.ts')).startServing(opened as App, { reloading }),
  backups: async () => {
    yieldToServers()
    return (await import('./app/backups.ts')).backups
  },
  provision: async (...request) => (await import('./app/provision.ts')).provisionFrom(...request),
  rotateSealingKey: async (options) => (await import('./app/keyRotation.ts')).rotateSealingKey(options),
  tryVideoEncoder: async (trial) => (await import('./app/videoEncoder.ts')).tryVideoEncoder(trial),
  addressesOf: async (name) => (await import('./app/health.ts')).addressesForDoctor(name),
  askHealth: async (...request) => (await import('./app/health.ts')).askHealth(...request),
  verifyCallback: async ({ headerPrefix, ...received }) => {
    const { headerProfile, verifySignature } = await import('./delivery/signature.ts')
    return verifySignature({ ...received, profile: headerProfile(headerPrefix) })
  },
})
