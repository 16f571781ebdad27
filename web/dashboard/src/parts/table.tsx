import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import './table.css'

export interface Column<R> {
  readonly id: string
  readonly title: ComponentChildren
  readonly cell: (row: R) => ComponentChildren
  /** `number` is aligned to the right, `actions` holds buttons. */
  readonly kind?: 'text' | 'number' | 'actions'
  /** When the table becomes narrow, 3 leaves first, then 2. */
  readonly priority?: 2 | 3
  /** The list can be sorted by it. */
  readonly isSortable?: boolean
}

interface TableProps<R> {
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  readonly keyOf: (row: R) => string | number
  readonly isChosen?: (row: R) => boolean
  readonly sort?: { readonly by: string; readonly isDescending: boolean; readonly onSort: (by: string) => void }
}

function classOf<R>({ kind, priority }: Column<R>): string {
  return [kind === 'number' ? 'n' : '', kind === 'actions' ? 'acts' : '', priority ? `p${priority}` : '']
    .filter(Boolean)
    .join(' ')
}

/** A table of one page of a list. The first cell says the essentials in `.only-narrow` when others have left. */
export function Table<R>({ caption, columns, rows, keyOf, isChosen = () => false, sort }: TableProps<R>) {
  return (
    <div class="table">
      <table>
        <caption class="sr">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.id} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isChosen(row) ? 'now' : ''}>
              {columns.map((column) => (
                <td key={column.id} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Heading<R>({ column, sort }: { readonly column: Column<R>; readonly sort: TableProps<R>['sort'] }) {
  const isSorted = sort?.by === column.id
  const order = sort?.isDescending ? 'descending' : 'ascending'
  return (
    <th scope="col" class={classOf(column)} aria-sort={isSorted ? order : undefined}>
      {sort && column.isSortable ? (
        <button type="button" onClick={() => sort.onSort(column.id)}>
          {column.title}
          {isSorted && <Icon name={order} isSmall />}
        </button>
      ) : column.kind === 'actions' ? (
        <span class="sr">{column.title}</span>
      ) : (
        column.title
      )}
    </th>
  )
}

/** Another page begins at its first row: shows the top of the list that a button stands under. */
function showTop({ currentTarget }: { readonly currentTarget: EventTarget }): void {
  const list = currentTarget instanceof Element ? currentTarget.closest('.card') : null
  list?.firstElementChild?.scrollIntoView({ block: 'nearest' })
}

interface TurnProps {
  readonly text: string
  readonly disabled: boolean
  readonly isBusy?: boolean
  readonly onTurn: () => void
}

function Turn({ text, onTurn, ...rest }: TurnProps) {
  const pressed = useRef<HTMLElement | null>(null)
  const turn = (event: { readonly currentTarget: EventTarget }): void => {
    pressed.current = event.currentTarget instanceof HTMLElement ? event.currentTarget : null
    showTop(event)
    onTurn()
  }
  // The last page has no further one, and a disabled button loses the focus.
  useLayoutEffect(() => {
    if (rest.disabled && document.activeElement === pressed.current)
      pressed.current?.parentElement?.querySelector<HTMLElement>('button:not(:disabled)')?.focus()
  }, [rest.disabled])
  return (
    <Button size="small" {...rest} onClick={turn}>
      {text}
    </Button>
  )
}

/** The foot of a list whose pages have numbers. */
export function Pager({
  page,
  perPage,
  total,
  onPage,
}: {
  readonly page: number
  readonly perPage: number
  readonly total: number
  readonly onPage: (page: number) => void
}) {
  if (total === 0) return null
  const last = Math.ceil(total / perPage)
  return (
    <>
      <span class="num">{words.parts.range((page - 1) * perPage + 1, Math.min(total, page * perPage), total)}</span>
      <span class="end actions">
        <Turn text={words.parts.previous} disabled={page <= 1} onTurn={() => onPage(page - 1)} />
        <Turn text={words.parts.next} disabled={page >= last} onTurn={() => onPage(page + 1)} />
      </span>
    </>
  )
}

/** The foot of a list that is walked by cursor: the rows so far, and a button for more. */
export function More({
  count,
  hasMore,
  isBusy,
  onMore,
}: {
  readonly count: number
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly onMore: () => void
}) {
  if (count === 0 && !hasMore) return null
  return (
    <>
      <span class="num">{words.parts.rows(count)}</span>
      {hasMore && (
        <span class="end">
          <Button size="small" isBusy={isBusy} onClick={onMore}>
            {words.parts.more}
          </Button>
        </span>
      )}
    </>
  )
}

/** The foot of a list that is walked by cursor, one page at a time. The newest rows come first. */
export function Turner(props: {
  readonly page: number
  /** Of each page but the last. */
  readonly perPage: number
  /** The rows of this page. */
  readonly count: number
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly onPage: (page: number) => void
}) {
  const { page, perPage, count, hasMore, isBusy, onPage } = props
  const from = page * perPage + 1
  if (page === 0 && count === 0) return null
  if (page === 0 && !hasMore) return <span class="num">{words.parts.rows(count)}</span>
  return (
    <>
      <span class="num">{words.parts.rowsFrom(from, from + count - 1)}</span>
      <span class="end actions">
        <Turn text={words.parts.newer} disabled={page === 0} onTurn={() => onPage(page - 1)} />
        <Turn text={words.parts.older} disabled={!hasMore} isBusy={isBusy} onTurn={() => onPage(page + 1)} />
      </span>
    </>
  )
}
