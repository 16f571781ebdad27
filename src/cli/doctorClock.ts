import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'

const WARN_MS = 2_000
/** Self-signed tokens tolerate this much skew. */
const FAIL_MS = 60_000

/** Compares the clock with that of the file system, which is another machine's if the directory is a network mount. */
export function checkClock(config: Config): Finding[] {
  const probe = mkdtempSync(join(config.data.dir, '.doctor-'))
  try {
    const { outcome, ...apart } = judgeClock(Math.round(statSync(probe).mtimeMs - Date.now()))
    if (apart.side === null) return [found(outcome, 'clock', 'file_clock')]
    return [found(outcome, 'clock', `file_clock_${apart.side}`, { seconds: apart.seconds })]
  } finally {
    rmSync(probe, { recursive: true })
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
  return { outcome: apart < FAIL_MS ? 'warn' : 'FAIL', side: behindMs > 0 ? 'behind' : 'ahead', seconds }
}
