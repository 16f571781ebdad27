import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const LOCK = join(root, 'build/dashboard.lock')
/** Far longer than a build takes: an older lock was left by a process that was killed. */
const LOCK_MAX_MS = 120_000

/** Builds the dashboard if its sources are newer than the last build. Test files of several processes build it once. */
export async function buildDashboard(): Promise<void> {
  mkdirSync(join(root, 'build'), { recursive: true })
  while (!take()) await wait(100)
  try {
    if (isStale()) await promisify(execFile)('npm', ['run', '-s', 'build:dashboard'], { cwd: root })
  } finally {
    rmdirSync(LOCK)
  }
}

function take(): boolean {
  try {
    mkdirSync(LOCK)
    return true
  } catch {
    if (Date.now() - timeOf(LOCK) > LOCK_MAX_MS) rmdirSync(LOCK)
    return false
  }
}

const isStale = (): boolean =>
  newestIn(['web', 'api', 'package-lock.json']) > timeOf(join(root, 'build/dashboard/index.html'))

const newestIn = (paths: readonly string[]): number =>
  Math.max(...paths.map((path) => (isDirectory(path) ? newestIn(childrenOf(path)) : timeOf(join(root, path)))))

const isDirectory = (path: string): boolean => statSync(join(root, path)).isDirectory()
const childrenOf = (path: string): string[] => readdirSync(join(root, path)).map((name) => join(path, name))

function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
