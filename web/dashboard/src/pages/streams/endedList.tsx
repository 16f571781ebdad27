import { type Answer, listEndedStreams } from '#api/tokens.ts'
import { callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { starts } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { SearchField } from '../../parts/search.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { count, duration, Time } from '../../parts/values.tsx'
import { linkTo, setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import { StreamName } from './streamName.tsx'

const text = words.streams
const PER_PAGE = 50

type Ended = Answer<typeof listEndedStreams>[number]

/** The streams that are off the air, the last to end first. */
export function EndedList({ search }: { readonly search: string }) {
  const list = useWalk(
    (cursor, signal) =>
      callPage(listEndedStreams, { query: { search: search || undefined, limit: PER_PAGE, cursor } }, { signal }),
    [search],
  )
  useFollow(starts, list.reload)
  const { data, error } = list
  return (
    <section class="card" aria-label={text.ended}>
      <div class="tools">
        <SearchField
          label={text.search}
          placeholder={text.searchHint}
          value={search}
          onSearch={(part) => setQuery({ search: part || undefined })}
        />
      </div>
      {error && <LoadError error={error} onRetry={list.reload} />}
      {!data && !error && <Bones rows={6} />}
      {data?.length === 0 && <Nothing isSearch={search !== ''} />}
      {data && data.length > 0 && (
        <Table caption={text.ended} columns={COLUMNS} rows={data} keyOf={({ streamName }) => streamName} />
      )}
      {data && (
        <div class="card-foot">
          <More count={data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
        </div>
      )}
    </section>
  )
}

const Nothing = ({ isSearch }: { readonly isSearch: boolean }) =>
  isSearch ? (
    <Empty
      title={text.noMatch}
      action={<LinkButton href={linkTo('/streams', { list: 'ended' })}>{text.showAll}</LinkButton>}
    >
      {text.noMatchText}
    </Empty>
  ) : (
    <Empty title={text.noEnded}>{text.noEndedText}</Empty>
  )

const lengthOf = ({ startedOn, endedOn }: Ended): string =>
  duration((Date.parse(endedOn) - Date.parse(startedOn)) / 1000)

const COLUMNS: readonly Column<Ended>[] = [
  {
    id: 'name',
    title: text.columns.name,
    cell: ({ streamName, tokenLabel }) => (
      <StreamName streamName={streamName} note={tokenLabel ?? words.overview.deletedToken} />
    ),
  },
  { id: 'seen', title: text.columns.seen, cell: ({ endedOn }) => <Time at={endedOn} isWhole /> },
  { id: 'length', title: text.columns.length, kind: 'number', priority: 2, cell: lengthOf },
  {
    id: 'most',
    title: text.columns.most,
    kind: 'number',
    priority: 2,
    cell: ({ mostViewers }) => count(mostViewers),
  },
  {
    id: 'why',
    title: text.columns.why,
    priority: 3,
    cell: ({ endReason = 'unknown' }) => words.stream.endReasons[endReason],
  },
]
