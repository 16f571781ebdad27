import { execFile } from 'node:child_process'
import { mkdirSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../../support/until.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const LOCK = join(root, 'build/dashboard.lock')
/** Far longer than a build takes: an older lock was left by a process that was killed. */
const LOCK_MAX_MS = 120_000

let built: Promise<void> | undefined

/** Builds the dashboard if it is stale, as the setup does. Test files of several processes build it once. */
export const buildDashboard = (): Promise<void> => (built ??= build())

async function build(): Promise<void> {
  mkdirSync(join(root, 'build'), { recursive: true })
  await until(take)
  try {
    await promisify(execFile)(process.execPath, ['scripts/build-dashboard.mjs'], { cwd: root })
  } finally {
    rmdirSync(LOCK)
  }
}

function take(): boolean {
  try {
    mkdirSync(LOCK)
    return true
  } catch {
    // Another process may have given it back meanwhile.
    const made = statSync(LOCK, { throwIfNoEntry: false })
    if (made && Date.now() - made.mtimeMs > LOCK_MAX_MS) rmdirSync(LOCK)
    return false
  }
}
