import { type StreamOnAir, streams } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { SearchField } from '../../parts/search.tsx'
import { type Column, Pager, Table } from '../../parts/table.tsx'
import { bitrate, count, Time } from '../../parts/values.tsx'
import { linkTo, setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { formatOf, HealthState } from '../stream/format.tsx'
import { chosenOf, HEALTHS, orderOf, type Wanted, wantedOf } from './choose.ts'
import { StreamName } from './streamName.tsx'
import { UnknownStreams } from './unknown.tsx'

const text = words.streams
const PER_PAGE = 50

/** The streams on the air. Their figures move; the page that is shown alone is drawn again. */
export function OnAirList({ query }: { readonly query: URLSearchParams }) {
  const wanted = wantedOf(query)
  const all = streams.value
  const chosen = chosenOf(all ?? [], wanted)
  const last = Math.max(1, Math.ceil(chosen.length / PER_PAGE))
  const page = Math.min(wanted.page, last)
  const rows = chosen.slice((page - 1) * PER_PAGE, page * PER_PAGE)
  const sort = {
    by: wanted.sortBy,
    isDescending: wanted.isDescending,
    onSort: (by: string) => setQuery(orderOf(by, wanted)),
  }
  return (
    <section class="card" aria-label={text.onAir}>
      <Tools wanted={wanted} streams={all ?? []} />
      {all === null ? (
        <UnknownStreams rows={6} />
      ) : all.length === 0 ? (
        <Empty
          title={words.overview.empty}
          action={canChange() && <LinkButton href={linkTo('/live')}>{words.overview.goLive}</LinkButton>}
        >
          {words.overview.emptyText}
        </Empty>
      ) : rows.length === 0 ? (
        <Empty title={text.noMatch} action={<LinkButton href={linkTo('/streams')}>{text.showAll}</LinkButton>}>
          {text.noMatchText}
        </Empty>
      ) : (
        <Table caption={text.onAir} columns={COLUMNS} rows={rows} keyOf={({ streamName }) => streamName} sort={sort} />
      )}
      <div class="card-foot">
        <Pager
          page={page}
          perPage={PER_PAGE}
          total={chosen.length}
          onPage={(next) => setQuery({ page: next === 1 ? undefined : String(next) })}
        />
      </div>
    </section>
  )
}

interface ToolsProps {
  readonly wanted: Wanted
  readonly streams: readonly StreamOnAir[]
}

function Tools({ wanted, streams: all }: ToolsProps) {
  const protocols = [...new Set([...all.map(({ protocol }) => protocol as string), wanted.protocol])].filter(Boolean)
  return (
    <div class="tools">
      <SearchField
        label={text.search}
        placeholder={text.searchHint}
        value={wanted.search}
        onSearch={(search) => setQuery({ search: search || undefined, page: undefined })}
      />
      <select
        class="select auto"
        aria-label={text.columns.health}
        value={wanted.health ?? ''}
        onChange={({ currentTarget: { value } }) => setQuery({ health: value || undefined, page: undefined })}
      >
        <option value="">{text.anyHealth}</option>
        {HEALTHS.map((one) => (
          <option key={one} value={one}>
            {words.stream.health[one]}
          </option>
        ))}
      </select>
      <select
        class="select auto"
        aria-label={text.columns.protocol}
        value={wanted.protocol}
        onChange={({ currentTarget: { value } }) => setQuery({ protocol: value || undefined, page: undefined })}
      >
        <option value="">{text.anyProtocol}</option>
        {protocols.toSorted().map((one) => (
          <option key={one} value={one}>
            {one.toUpperCase()}
          </option>
        ))}
      </select>
    </div>
  )
}

const COLUMNS: readonly Column<StreamOnAir>[] = [
  {
    id: 'name',
    title: text.columns.name,
    isSortable: true,
    cell: ({ streamName, tokenLabel, recorded, health }) => (
      <StreamName streamName={streamName} note={tokenLabel ?? words.overview.deletedToken}>
        {recorded && <span class="tag">{words.stream.recordingNow}</span>}
        <span class="only-narrow">
          <HealthState health={health} />
        </span>
      </StreamName>
    ),
  },
  {
    id: 'health',
    title: text.columns.health,
    priority: 2,
    isSortable: true,
    cell: ({ health }) => <HealthState health={health} />,
  },
  {
    id: 'viewers',
    title: text.columns.viewers,
    kind: 'number',
    isSortable: true,
    cell: ({ viewers }) => count(viewers),
  },
  { id: 'protocol', title: text.columns.protocol, priority: 3, cell: ({ protocol }) => protocol.toUpperCase() },
  {
    id: 'format',
    title: text.columns.format,
    priority: 3,
    cell: (stream) => <span class="nowrap">{formatOf(stream)}</span>,
  },
  {
    id: 'bitrate',
    title: text.columns.bitrate,
    kind: 'number',
    priority: 2,
    isSortable: true,
    cell: ({ bitrateIn = 0 }) => bitrate(bitrateIn),
  },
  {
    id: 'started',
    title: text.columns.started,
    priority: 2,
    isSortable: true,
    cell: ({ startedOn }) => <Time at={startedOn} />,
  },
]
