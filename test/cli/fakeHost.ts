import { ManualClock } from '../../src/base/clock.ts'
import { err, ok } from '../../src/base/result.ts'
import type { CliCommand } from '../../src/cli/command.ts'
import type { Host, OpenedApp } from '../../src/cli/host.ts'
import { runCli } from '../../src/cli/run.ts'

export interface Ran {
  status: number
  stdout: string
  stderr: string
}

/** The world of a command beside a server of this process, as if it were a process of its own. */
export const besideServer = ({ ctx }: OpenedApp, config: OpenedApp['config']): Partial<Host> => ({
  loadConfig: () => ok(config),
  openApp: async () => ({ config, ctx, close: async () => {} }),
})

/** Runs a command line in this process, in a world without a store: opening one is an error. */
export async function run(
  argv: readonly string[],
  world: Partial<Host> & { input?: string } = {},
  commands?: readonly CliCommand[],
): Promise<Ran> {
  let stdout = ''
  let stderr = ''
  const { input = '', ...rest } = world
  const host: Host = {
    version: '1.2.3',
    env: {},
    program: 'sluice',
    clock: new ManualClock(),
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    stdoutDrained: async () => undefined,
    terminal: () => null,
    stderrIsTerminal: false,
    readStdin: async (maxBytes) => (input.length > maxBytes ? err(`longer than ${maxBytes} bytes`) : ok(input)),
    stopRequested: async () => 'SIGTERM',
    loadConfig: () => ok({ data: { dir: '/nowhere' }, storage: { url: '/dev/null' } } as OpenedApp['config']),
    openApp: () => Promise.reject(new Error('no store here')),
    startServing: () => Promise.reject(new Error('no server here')),
    backups: () => Promise.reject(new Error('no backups here')),
    provision: () => Promise.reject(new Error('no files here')),
    rotateSealingKey: () => Promise.reject(new Error('no keys here')),
    addressesOf: () => Promise.reject(new Error('no names here')),
    askHealth: () => Promise.reject(new Error('no network here')),
    tryVideoEncoder: () => Promise.reject(new Error('no encoders here')),
    verifyCallback: () => Promise.reject(new Error('no callbacks here')),
    ...rest,
  }
  const status = await runCli(argv, host, commands)
  return { status, stdout, stderr }
}
