import { execFile } from 'node:child_process'
import { mkdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../../support/until.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Far longer than a build takes: an older lock was left by a process that was killed. */
const LOCK_MAX_MS = 120_000

const built = new Map<string, Promise<void>>()

/** Builds pages if they are stale, as the setup does. Test files of several processes build them once. */
export function buildPages(name: 'dashboard' | 'docs'): Promise<void> {
  const building = built.get(name) ?? build(name)
  built.set(name, building)
  return building
}

async function build(name: string): Promise<void> {
  const lock = join(root, `build/${name}.lock`)
  mkdirSync(join(root, 'build'), { recursive: true })
  await until(() => take(lock))
  try {
    await promisify(execFile)(process.execPath, [`scripts/build-${name}.mjs`], { cwd: root })
  } finally {
    rmdirSync(lock)
  }
}

function take(lock: string): boolean {
  try {
    mkdirSync(lock)
    return true
  } catch {
    // Another process may have given it back meanwhile.
    const made = statSync(lock, { throwIfNoEntry: false })
    if (made && Date.now() - made.mtimeMs > LOCK_MAX_MS) rmdirSync(lock)
    return false
  }
}
