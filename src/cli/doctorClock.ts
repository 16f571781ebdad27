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
    return [judgeClock('clock', Math.round(statSync(probe).mtimeMs - Date.now()), 'the file system')]
  } finally {
    rmSync(probe, { recursive: true })
  }
}

/** @param behindMs of this machine's clock, against that of `other` */
export function judgeClock(check: string, behindMs: number, other: string): Finding {
  const apart = Math.abs(behindMs)
  if (apart < WARN_MS) return found('ok', check, `agrees with ${other}`)
  const seconds = (apart / 1000).toFixed(1)
  const detail = `${seconds} s ${behindMs > 0 ? 'behind' : 'ahead of'} ${other}; set the clock with NTP`
  return found(apart < FAIL_MS ? 'warn' : 'FAIL', check, detail)
}
