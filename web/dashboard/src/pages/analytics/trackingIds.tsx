import { useState } from 'preact/hooks'
import { type Answer, listTrackingIds } from '#api/tokens.ts'
import { callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { bytes } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import type { Range } from './range.ts'

const text = words.analytics

type Tracked = Answer<typeof listTrackingIds>[number]

const COLUMNS: readonly Column<Tracked>[] = [
  { id: 'id', title: text.trackingId, cell: ({ trackingId }) => <code>{trackingId}</code> },
  { id: 'out', title: text.out, kind: 'number', cell: ({ bytesOut }) => bytes(bytesOut) },
]

/** Bytes by tracking id, in the order of the ids. */
export function TrackingIds({ range }: { readonly range: Range }) {
  const [prefix, setPrefix] = useState('')
  const list = useWalk(
    (cursor, signal) =>
      callPage(listTrackingIds, { query: { ...range, prefix: prefix || undefined, cursor } }, { signal }),
    [range.startDate, range.stopDate, prefix],
  )
  return (
    <Card
      title={text.byTrackingId}
      isFlush
      aside={
        <SearchField
          label={text.searchTracking}
          placeholder={text.searchTracking}
          value={prefix}
          onSearch={setPrefix}
        />
      }
      foot={
        list.data && <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{text.noTrackingId}</p>}
      {list.data && list.data.length > 0 && (
        <Table caption={text.byTrackingId} rows={list.data} keyOf={({ trackingId }) => trackingId} columns={COLUMNS} />
      )}
    </Card>
  )
}
