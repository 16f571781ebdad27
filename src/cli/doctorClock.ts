import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from './doctorMachine.ts'

const WARN_MS = 2_000
/** Self-signed tokens tolerate this much skew. */
const FAIL_MS = 60_000

/** Compares the clock with that of the file system, which is another machine's if the directory is a network mount. */
export function checkClock(config: Config): Finding[] {
  const probe = mkdtempSync(join(config.data.dir, '.doctor-'))
  try {
    const skewMs = Math.round(statSync(probe).mtimeMs - Date.now())
    return [judge(skewMs)]
  } finally {
    rmSync(probe, { recursive: true })
  }
}

function judge(skewMs: number): Finding {
  const apart = Math.abs(skewMs)
  if (apart < WARN_MS) return found('ok', 'clock', 'agrees with the file system')
  const seconds = (apart / 1000).toFixed(1)
  const detail = `${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the file system; set the clock with NTP`
  return found(apart < FAIL_MS ? 'warn' : 'FAIL', 'clock', detail)
}
