import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { SearchField } from './search.tsx'
import { Pager } from './table.tsx'

/** Rows of a page. A list with more of them can be searched. */
const PER_PAGE = 50

interface WholeList<R> {
  /** The rows of the page. */
  readonly shown: readonly R[]
  /** Stands above the rows; null: they are few. */
  readonly tools: ComponentChildren
  /** Stands below them; null: they are few. */
  readonly foot: ComponentChildren
}

/**
 * Shows a list that the server sends as a whole a page at a time, because it may have hundreds of rows.
 * @param textOf what a search looks in
 * @param chosen the row whose page is shown first
 */
export function useWholeList<R>(rows: readonly R[] = [], textOf: (row: R) => string, chosen?: R): WholeList<R> {
  const [typed, setTyped] = useState('')
  /** Null: that of the chosen row. */
  const [turned, setTurned] = useState<number | null>(null)
  const sought = typed.toLowerCase()
  const found = sought === '' ? rows : rows.filter((row) => textOf(row).toLowerCase().includes(sought))
  const chosenPage = 1 + Math.floor(Math.max(0, chosen === undefined ? 0 : found.indexOf(chosen)) / PER_PAGE)
  const page = Math.min(turned ?? chosenPage, Math.max(1, Math.ceil(found.length / PER_PAGE)))
  const shown = found.slice((page - 1) * PER_PAGE, page * PER_PAGE)
  if (rows.length <= PER_PAGE) return { shown, tools: null, foot: null }
  const search = (text: string): void => {
    setTyped(text)
    setTurned(null)
  }
  return {
    shown,
    tools: (
      <>
        <div class="tools">
          <SearchField
            label={words.parts.search}
            placeholder={words.parts.searchHint}
            value={typed}
            onSearch={search}
          />
        </div>
        {found.length === 0 && <p class="pad note">{words.parts.noneFound}</p>}
      </>
    ),
    foot: <Pager page={page} perPage={PER_PAGE} total={found.length} onPage={setTurned} />,
  }
}
