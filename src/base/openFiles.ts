import { readFileSync } from 'node:fs'

/** How many descriptors this process may have open; null where that cannot be read, as on other systems than Linux. */
export function openFilesLimit(): number | null {
  try {
    const [, limit = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === '' ? null : Number(limit)
  } catch {
    return null
  }
}
