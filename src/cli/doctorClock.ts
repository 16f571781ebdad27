import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileProblem } from '../base/errorCode.ts'
import { CLOCK_SKEW_MS } from '../base/time.ts'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'

const WARN_MS = 2_000

/** Compares the clock with that of the file system, which is another machine's if the directory is a network mount. */
export function checkClock(config: Config): Finding[] {
  const { dir } = config.data
  const behindMs = behindDisk(dir)
  if (typeof behindMs !== 'number') return [found('FAIL', 'clock', 'disk_closed', { dir, problem: behindMs.problem })]
  const { outcome, ...apart } = judgeClock(behindMs)
  if (apart.side === null) return [found(outcome, 'clock', 'file_clock')]
  return [found(outcome, 'clock', `file_clock_${apart.side}`, { seconds: apart.seconds })]
}

/** How far the clock of this machine is behind that of the file system, milliseconds; or why it cannot be said. */
function behindDisk(dir: string): number | { readonly problem: string } {
  try {
    const probe = mkdtempSync(join(dir, '.doctor-'))
    const { mtimeMs } = statSync(probe)
    rmSync(probe, { recursive: true })
    return Math.round(mtimeMs - Date.now())
  } catch (error) {
    return { problem: fileProblem(error) }
  }
}

interface JudgedClock {
  readonly outcome: Finding['outcome']
  /** Null: both clocks agree. */
  readonly side: 'ahead' | 'behind' | null
  /** With one decimal. */
  readonly seconds: string
}

/** @param behindMs how far the clock of this machine is behind another one */
export function judgeClock(behindMs: number): JudgedClock {
  const apart = Math.abs(behindMs)
  const seconds = (apart / 1000).toFixed(1)
  if (apart < WARN_MS) return { outcome: 'ok', side: null, seconds }
  return { outcome: apart < CLOCK_SKEW_MS ? 'warn' : 'FAIL', side: behindMs > 0 ? 'behind' : 'ahead', seconds }
}
