import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { at } from '../compile.mjs'

/** Runs a program to its end and returns its standard output; the rest is shown. Throws unless it ends with 0. */
export function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: at('.'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
    timeout: 10 * 60_000,
    // npm that waits for its registry does not end by SIGTERM.
    killSignal: 'SIGKILL',
    ...options,
  })
  if (status !== 0)
    throw new Error(`${program} ${args[0]}: ${error?.message ?? `ended with ${status}\n${stdout}${stderr ?? ''}`}`)
  return stdout
}

export const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'))

/** A processor in the words of Debian and of containers. `arch`: in those of Node. */
export const debianArchitecture = (arch) => (arch === 'x64' ? 'amd64' : arch)

export function isInstalled(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
