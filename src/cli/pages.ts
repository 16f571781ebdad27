import { ok, type Result } from '../base/result.ts'
import type { KeysetPage } from '../commands/pages.ts'

const PAGE = 100

type Query = Record<string, string>

/** Reads a list page by page, until there are enough items. */
export async function collectPages<T, F>(
  read: (query: Query) => Promise<Result<KeysetPage<T>, F>>,
  query: Query,
  most: number,
): Promise<Result<T[], F>> {
  const all: T[] = []
  let cursor: string | undefined
  while (all.length < most) {
    const limit = String(Math.min(PAGE, most - all.length))
    const page = await read({ ...query, limit, ...(cursor === undefined ? {} : { cursor }) })
    if (!page.ok) return page
    all.push(...page.value.data)
    cursor = page.value.pagination.cursor
    if (cursor === undefined) break
  }
  return ok(all)
}
