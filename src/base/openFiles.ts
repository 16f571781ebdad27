import { readFileSync } from 'node:fs'

/** The limit of open descriptors of this process; null where it cannot be read, as on systems other than Linux. */
export function openFilesLimit(): number | null {
  try {
    const [, limit = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === '' ? null : Number(limit)
  } catch {
    return null
  }
}
