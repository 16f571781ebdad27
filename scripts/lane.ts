// Runs the tests of a lane, or those of `npm test`, and writes build/NAME.json for .ci/run:
//   node scripts/lane.ts test | NAME [FILE …]
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GATE, type Lane, LANES } from '../test/lanes.ts'

const path = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))

const [name = 'test', ...rest] = process.argv.slice(2)
const lane = (LANES as Readonly<Record<string, Lane>>)[name]
if (lane === undefined && name !== 'test') {
  console.error(`There is no lane ${name}. Lanes: ${Object.keys(LANES).join(', ')}`)
  process.exit(2)
}

const report = path(`build/${name}.json`)
const program = path(lane?.program ?? 'node_modules/vitest/vitest.mjs')
const projects = lane === undefined ? GATE : [name]
const files = lane?.config === undefined ? projects.map((each) => `--project=${each}`) : [`--config=${lane.config}`]
const reporters = ['default', 'json', './test/support/longRunning.ts'].map((each) => `--reporter=${each}`)

rmSync(report, { force: true })
// What tests leave behind, also those that were killed, goes with the run. PostgreSQL enters it as another user.
const temporary = mkdtempSync(join(lane === undefined ? quickFolder() : tmpdir(), 'sluice-'))
chmodSync(temporary, 0o755)
const child = spawn(
  process.execPath,
  [program, 'run', ...files, ...reporters, `--outputFile.json=${report}`, ...rest],
  {
    cwd: path('.'),
    env: { ...process.env, TMPDIR: temporary },
    stdio: 'inherit',
  },
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  rmSync(temporary, { recursive: true, force: true })
  process.exitCode = code ?? 1
})

/**
 * Where Linux has a file system in memory with room, and programs may run from it: a database waits milliseconds for a disk with
 * each commit, and no test of `npm test` needs what a power cut leaves.
 */
function quickFolder(): string {
  const [memory, mounts] = ['/dev/shm', '/proc/mounts']
  const isTmpfs = existsSync(mounts) && /^\S+ \/dev\/shm tmpfs (?!\S*noexec)/m.test(readFileSync(mounts, 'utf8'))
  const { bavail, bsize } = isTmpfs ? statfsSync(memory) : { bavail: 0, bsize: 0 }
  return bavail * bsize > 8e9 ? memory : tmpdir()
}
