import type { DatabaseSync } from 'node:sqlite'
import type { PageCheck } from '../../pageCheck.ts'

const MAX_TEXT = 200

/** Reads every page, and says what is wrong with the first that is. */
export function checkPages(db: DatabaseSync, pagesMax: number): PageCheck {
  try {
    const { page_count: pages } = db.prepare('pragma page_count').get() as { page_count: number }
    if (pages > pagesMax) return { state: 'large' }
    const { quick_check: found } = db.prepare('pragma quick_check(1)').get() as { quick_check: string }
    return found === 'ok' ? { state: 'sound' } : damaged(found)
  } catch (error) {
    return damaged((error as Error).message)
  }
}

const damaged = (text: string): PageCheck => ({
  state: 'damaged',
  problem: text.replaceAll(/\s+/g, ' ').slice(0, MAX_TEXT),
})
