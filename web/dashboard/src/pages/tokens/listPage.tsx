import { computed } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { audiences, tokenEdits } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Segment } from '../../parts/form.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { count } from '../../parts/values.tsx'
import { linkTo, type PageArgs, setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { DeleteTokens } from './deleteTokens.tsx'
import { columnsOf } from './listColumns.tsx'
import { NoTokens } from './noTokens.tsx'
import {
  listTokens,
  liveTokens,
  type SortBy,
  type TokenQuery,
  type TokenRecord,
  type TokenState,
} from './operations.ts'
import { switchTokens } from './switching.ts'
import type { TokenKind } from './tokenForm.ts'
import './tokens.css'

const text = words.tokens
const PER_PAGE = 50
const STATES: readonly (TokenState | '')[] = ['', 'live', 'expiring', 'off', 'expired']
const SORTS: readonly SortBy[] = ['Name', 'AddedOn', 'LastUsedOn']

export const PublishTokensPage = ({ query }: PageArgs) => <TokensPage kind="publish" query={query} />
export const SubscribeTokensPage = ({ query }: PageArgs) => <TokensPage kind="subscribe" query={query} />

/** What the address asks for. Unknown values of an old link count as absent. */
function queryOf(
  query: URLSearchParams,
): TokenQuery & { readonly page: number; readonly sortBy: SortBy; readonly isDescending: boolean } {
  const state = STATES.find((one) => one !== '' && one === query.get('state'))
  return {
    search: (query.get('search') ?? '').slice(0, 128),
    state: state === '' ? undefined : state,
    sortBy: SORTS.find((one) => one === query.get('sort')) ?? 'AddedOn',
    isDescending: query.get('order') !== 'ascending',
    page: Math.max(1, Math.trunc(Number(query.get('page'))) || 1),
    itemsOnPage: PER_PAGE,
  }
}

async function load(kind: TokenKind, query: TokenQuery, signal: AbortSignal) {
  const [list, live] = await Promise.all([listTokens(kind, query, signal), liveTokens(kind, signal)])
  return { ...list, live }
}

const countAll = (kind: TokenKind, signal: AbortSignal): Promise<number> =>
  listTokens(kind, { search: '', itemsOnPage: 1 }, signal).then(({ total }) => total)

/** Which tokens are live changes by itself, and other users change them. */
const listNews = computed(() => `${tokenEdits.value} ${audiences.value}`)

function TokensPage({ kind, query }: { readonly kind: TokenKind; readonly query: URLSearchParams }) {
  const wanted = queryOf(query)
  const list = useLoad((signal) => load(kind, wanted, signal), [kind, query.toString()])
  const totals = useLoad(
    async (signal) => ({ publish: await countAll('publish', signal), subscribe: await countAll('subscribe', signal) }),
    [kind, list.data?.total],
  )
  useFollow(listNews, list.reload)
  const isNarrowed = wanted.search !== '' || wanted.state !== undefined
  const isEmpty = list.data?.total === 0 && !isNarrowed
  const last = Math.ceil((list.data?.total ?? 0) / PER_PAGE)
  // The tokens of the last page are deleted.
  useEffect(() => {
    if (list.data?.rows.length === 0 && last > 0) setQuery({ page: last === 1 ? undefined : String(last) })
  }, [list.data])
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        canChange() && !isEmpty ? (
          <LinkButton look="primary" icon="plus" href={linkTo(`/tokens/${kind}/new`)}>
            {text.kinds[kind].create}
          </LinkButton>
        ) : undefined
      }
    >
      <Tabs
        label={text.kindOfToken}
        current={linkTo(`/tokens/${kind}`)}
        tabs={(['publish', 'subscribe'] as const).map((one) => ({
          href: linkTo(`/tokens/${one}`),
          text: (
            <>
              {text.kinds[one].tab} <span class="faint num">{totals.data ? count(totals.data[one]) : ''}</span>
            </>
          ),
        }))}
      />
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {isEmpty ? (
        <NoTokens kind={kind} />
      ) : (
        <TokenList
          key={kind}
          kind={kind}
          wanted={wanted}
          data={list.data}
          reloaded={list.reloaded}
          hasFailed={list.error !== null}
        />
      )}
    </Page>
  )
}

type Data = Awaited<ReturnType<typeof load>>

const NONE: ReadonlySet<number> = new Set()

interface ListProps {
  readonly kind: TokenKind
  readonly wanted: ReturnType<typeof queryOf>
  readonly data: Data | undefined
  readonly hasFailed: boolean
  readonly reloaded: () => Promise<void>
}

function TokenList({ kind, wanted, data, reloaded, hasFailed }: ListProps) {
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const [deleting, setDeleting] = useState<readonly TokenRecord[] | null>(null)
  const { rows = [], total = 0, live = NONE } = data ?? {}
  const selected = rows.filter(({ id }) => chosen.has(id))
  const done = (): Promise<void> => {
    setChosen(new Set())
    return reloaded()
  }
  const columns = columnsOf({ kind, live, rows, chosen, setChosen, setDeleting, onChanged: reloaded })
  const sort = {
    by: wanted.sortBy,
    isDescending: wanted.isDescending,
    onSort: (by: string) => setQuery(orderOf(by, wanted)),
  }
  return (
    <section class="card" aria-label={text.kinds[kind].list}>
      <Tools kind={kind} wanted={wanted} selected={selected} onDelete={() => setDeleting(selected)} onChanged={done} />
      {!data ? (
        !hasFailed && <Bones rows={6} />
      ) : rows.length === 0 ? (
        <Empty title={text.noMatch} action={<LinkButton href={linkTo(`/tokens/${kind}`)}>{text.showAll}</LinkButton>}>
          {text.noMatchText}
        </Empty>
      ) : (
        <Table caption={text.kinds[kind].list} columns={columns} rows={rows} keyOf={({ id }) => id} sort={sort} />
      )}
      <div class="card-foot">
        <Pager
          page={wanted.page}
          perPage={PER_PAGE}
          total={total}
          onPage={(page) => setQuery({ page: page === 1 ? undefined : String(page) })}
        />
      </div>
      {deleting && <DeleteTokens kind={kind} tokens={deleting} onDone={done} onClose={() => setDeleting(null)} />}
    </section>
  )
}

/**
 * The first click on a column sorts by it, the second turns the order around, the third goes back to the newest first.
 * Names begin ascending, times descending.
 */
function orderOf(by: string, wanted: { readonly sortBy: SortBy; readonly isDescending: boolean }) {
  const first = by !== 'Name'
  const next = wanted.sortBy !== by ? first : wanted.isDescending === first ? !first : undefined
  if (next === undefined) return { sort: undefined, order: undefined, page: undefined }
  return { sort: by, order: next ? undefined : 'ascending', page: undefined }
}

interface ToolsProps {
  readonly kind: TokenKind
  readonly wanted: ReturnType<typeof queryOf>
  readonly selected: readonly TokenRecord[]
  readonly onDelete: () => void
  readonly onChanged: () => Promise<void>
}

function Tools({ kind, wanted, selected, onDelete, onChanged }: ToolsProps) {
  const [isBusy, setBusy] = useState(false)
  const switchTo = (isActive: boolean): void => {
    setBusy(true)
    void switchTokens(
      kind,
      selected.filter((one) => one.isActive !== isActive),
      isActive,
      onChanged,
    ).finally(() => setBusy(false))
  }
  return (
    <div class="tools">
      <SearchField
        label={text.searchLabel}
        placeholder={text.searchPlaceholder}
        value={wanted.search}
        onSearch={(search) => setQuery({ search: search || undefined, page: undefined })}
      />
      <div class="token-states">
        <Segment
          label={text.which}
          value={wanted.state ?? ''}
          choices={STATES.map((state) => [state, text.filters[state || 'all']] as const)}
          onChange={(state) => setQuery({ state: state || undefined, page: undefined })}
        />
      </div>
      {selected.length > 0 && (
        <div class="actions end" role="group" aria-label={words.parts.selected(selected.length)}>
          <span class="note">{words.parts.selected(selected.length)}</span>
          {selected.some(({ isActive }) => isActive) && (
            <Button size="small" isBusy={isBusy} onClick={() => switchTo(false)}>
              {text.switchOff}
            </Button>
          )}
          {selected.some(({ isActive }) => !isActive) && (
            <Button size="small" isBusy={isBusy} onClick={() => switchTo(true)}>
              {text.switchOn}
            </Button>
          )}
          <Button size="small" look="danger" icon="trash" onClick={onDelete}>
            {text.delete}
          </Button>
        </div>
      )}
    </div>
  )
}
