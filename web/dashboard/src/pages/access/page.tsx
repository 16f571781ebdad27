import { useState } from 'preact/hooks'
import { type Args, listAccessLog, readAccessSummary } from '#api/tokens.ts'
import { call, callPage } from '../../api/call.ts'
import { useLoad, useWalk, type Walked } from '../../api/load.ts'
import { LATE_DECISIONS, useFollow } from '../../follow.ts'
import { decisions } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Segment, Toggle } from '../../parts/form.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { useSince } from '../../parts/pastRange.ts'
import { PastRangeSelect } from '../../parts/pastRangeSelect.tsx'
import { SearchField } from '../../parts/search.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { count, Time } from '../../parts/values.tsx'
import { linkTo, type PageArgs, route } from '../../router.ts'
import { words } from '../../words/words.ts'
import { Admissions } from './admissions.tsx'
import { type Decision, DecisionCard, kindOf } from './decision.tsx'
import { DryRunCard, emptyQuestion, type Question } from './dryRun.tsx'
import { countedFrom, type Filters, OUTCOMES, readFilters, searchOf, setFilters, typedOf } from './filters.ts'
import { ReasonsCard } from './reasons.tsx'
import './access.css'

const text = words.access
const PER_PAGE = 50

type LogQuery = NonNullable<Args<typeof listAccessLog>['query']>

const ALLOWED = { all: undefined, refused: false, admitted: true } as const

const logQuery = ({ token, stream, address, outcome, code }: Filters): LogQuery => ({
  tokenId: token,
  streamName: stream || undefined,
  address: address || undefined,
  allowed: ALLOWED[outcome],
  // An unknown code of an old link gets the refusal of the server, which names the known ones.
  code: (code || undefined) as LogQuery['code'],
})

/** Who was let in, who was not, and why; and the dry run. */
export function AccessPage({ query }: PageArgs) {
  const filters = readFilters(query)
  const { decision: _chosen, ...narrowing } = filters
  const key = JSON.stringify(narrowing)
  const [isFollowing, setFollowing] = useState(true)
  const since = useSince(filters.range)
  const log = useWalk(
    (cursor, signal) => {
      const query = { ...logQuery(filters), from: since(cursor), limit: PER_PAGE, cursor }
      return callPage(listAccessLog, { query }, { signal })
    },
    [key],
  )
  const summary = useLoad(
    (signal) => call(readAccessSummary, { query: { from: countedFrom(filters.range, Date.now()) } }, { signal }),
    [filters.range, isFollowing ? log.data : null],
  )
  const follow = (): void => {
    if (isFollowing) log.reload()
  }
  const setAndFollow = (isOn: boolean): void => {
    setFollowing(isOn)
    if (isOn) log.reload()
  }
  useFollow(decisions, follow, LATE_DECISIONS)
  const chosen = log.data?.find(({ id }) => id === filters.decision)
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={<Toggle label={text.follow} isOn={isFollowing} onChange={setAndFollow} />}
    >
      <div class="cols form-side in-order">
        <section class="card access-decisions" aria-label={text.decisions}>
          <Tools filters={filters} refused={filters.range === 'all' ? undefined : summary.data?.refused} />
          {filters.outcome === 'admitted' && <Admissions />}
          {log.error && <LoadError error={log.error} onRetry={log.reload} />}
          <Decisions log={log} filters={filters} isNarrowed={hasFilter(filters)} />
          <div class="card-foot">
            <More
              count={log.data?.length ?? 0}
              hasMore={log.hasMore}
              isBusy={log.isLoading && !isFollowing}
              onMore={() => {
                setFollowing(false)
                log.more()
              }}
            />
          </div>
        </section>
        <div class="stack stick" id="why">
          {filters.decision !== '' && <DecisionCard id={filters.decision} />}
          <DryRunCard key={filters.decision} start={questionOf(chosen)} isOpen={filters.decision === ''} />
          <ReasonsCard codes={summary.data?.codes ?? []} range={filters.range} />
        </div>
      </div>
    </Page>
  )
}

const hasFilter = ({ token, stream, address, outcome, code, range }: Filters): boolean =>
  token !== undefined || stream !== '' || address !== '' || outcome !== 'all' || code !== '' || range !== 'day'

/** The dry run begins with the client of the chosen decision. */
function questionOf(decision: Omit<Decision, 'trace'> | undefined): Question {
  if (!decision) return emptyQuestion
  const { action, protocol, streamName, tokenId, address, origin = '', country = '' } = decision
  return {
    action: action === 'publish' ? action : 'view',
    protocol,
    streamName,
    token: tokenId === undefined ? '' : String(tokenId),
    ip: address,
    origin,
    country,
  }
}

function Tools({ filters, refused }: { readonly filters: Filters; readonly refused: number | undefined }) {
  const outcomes = OUTCOMES.map(
    (one) =>
      [
        one,
        one === 'refused' && refused !== undefined ? (
          <>
            {text.outcomes[one]} <span class="num">{count(refused)}</span>
          </>
        ) : (
          text.outcomes[one]
        ),
      ] as const,
  )
  return (
    <div class="tools">
      <SearchField
        label={text.searchLabel}
        placeholder={text.searchPlaceholder}
        value={typedOf(filters)}
        onSearch={(typed) => setFilters(searchOf(typed))}
      />
      <PastRangeSelect
        value={filters.range}
        onChange={(range) => setFilters({ range: range === 'day' ? undefined : range })}
      />
      <select
        class="select auto"
        aria-label={text.reason}
        value={filters.code}
        onChange={({ currentTarget }) => setFilters({ code: currentTarget.value || undefined })}
      >
        <option value="">{text.anyReason}</option>
        {Object.entries(text.codes).map(([code, shown]) => (
          <option key={code} value={code}>
            {shown}
          </option>
        ))}
      </select>
      <Segment
        label={text.which}
        value={filters.outcome}
        choices={outcomes}
        onChange={(outcome) =>
          setFilters({
            outcome: outcome === 'all' ? undefined : outcome,
            ...(outcome === 'admitted' ? { code: undefined } : {}),
          })
        }
      />
    </div>
  )
}

type Row = Omit<Decision, 'trace'>

function Decisions(props: { readonly log: Walked<Row>; readonly filters: Filters; readonly isNarrowed: boolean }) {
  const { log, filters, isNarrowed } = props
  if (!log.data) return log.error ? null : <Bones rows={6} />
  if (log.data.length === 0)
    return isNarrowed ? (
      <Empty title={text.noMatch} action={<LinkButton href={linkTo('/access')}>{text.showAll}</LinkButton>}>
        {text.noMatchText}
      </Empty>
    ) : (
      <Empty title={text.emptyTitle}>{text.emptyText}</Empty>
    )
  return (
    <div class="access-log">
      <Table
        caption={text.caption}
        columns={columns()}
        rows={log.data}
        keyOf={({ id }) => id}
        isChosen={({ id }) => id === filters.decision}
      />
    </div>
  )
}

/** The same view with this decision chosen. */
const chosenLink = (id: string): string => linkTo('/access', { ...Object.fromEntries(route.value.query), decision: id })

function columns(): readonly Column<Row>[] {
  return [
    {
      id: 'at',
      title: text.columns.time,
      cell: ({ lastAt }) => (
        <span class="nowrap">
          <Time at={lastAt} hasSeconds />
        </span>
      ),
    },
    { id: 'outcome', title: text.columns.outcome, cell: (row) => <Outcome row={row} /> },
    {
      id: 'stream',
      title: text.columns.stream,
      priority: 2,
      cell: ({ action, streamName, protocol }) => (
        <>
          <span>
            {text.actions[action]} <code>{streamName}</code>
          </span>{' '}
          <span class="tag">{protocol.toUpperCase()}</span>
        </>
      ),
    },
    {
      id: 'from',
      title: text.columns.from,
      priority: 2,
      cell: ({ address, country, origin }) => (
        <>
          <code class="address">{address}</code> {country && <span class="tag">{country}</span>}
          {origin && <span class="sub">{origin}</span>}
        </>
      ),
    },
    { id: 'token', title: text.columns.token, priority: 3, cell: (row) => <TokenCell row={row} /> },
  ]
}

function Outcome({ row }: { readonly row: Row }) {
  const { id, allowed, code = '', action, streamName, address, source } = row
  return (
    <>
      <a class="row" href={chosenLink(id)}>
        <State kind={allowed ? 'ok' : 'error'}>{allowed ? text.admitted : (text.codes[code] ?? code)}</State>
      </a>{' '}
      {row.count > 1 && <span class="tag num">{text.timesShort(row.count)}</span>}
      {source === 'check' && <span class="tag">{text.dryRun}</span>}
      <span class="sub only-narrow">
        {text.actions[action]} <bdi>{streamName}</bdi> {text.fromAddress(address)}
      </span>
    </>
  )
}

function TokenCell({ row }: { readonly row: Row }) {
  const { tokenId } = row
  if (tokenId === undefined) return <span class="faint">{text.noToken}</span>
  const kind = kindOf(row)
  return <a href={linkTo(`/tokens/${kind}/${tokenId}`)}>{words.tokens.kinds[kind].one(tokenId)}</a>
}
