import { listBroadcastsOfStream } from '#api/tokens.ts'
import { callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { More } from '../../parts/table.tsx'
import { bytes, duration, Time } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'

const text = words.stream
const PER_PAGE = 5

/** The broadcasts that are over, the latest first. `isLive`: the list is loaded again when one begins or ends. */
export function PastBroadcasts({ streamName, isLive }: { readonly streamName: string; readonly isLive: boolean }) {
  const load = useWalk(
    (cursor, signal) =>
      callPage(listBroadcastsOfStream, { path: { streamName }, query: { limit: PER_PAGE, cursor } }, { signal }),
    [streamName, isLive],
  )
  return (
    <Card
      title={text.past}
      isFlush
      foot={load.hasMore && <More count={load.data?.length ?? 0} hasMore isBusy={load.isLoading} onMore={load.more} />}
    >
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones rows={1} />}
      {load.data?.length === 0 && <p class="pad note">{text.noPast}</p>}
      <ul class="rows">
        {(load.data ?? []).map(({ feedId, startedOn, endedOn, mostViewers, bytesOut, endReason = 'unknown' }) => (
          <li key={feedId}>
            <Shape kind="off" isSmall />
            <div class="grow">
              <b>
                <Time at={startedOn} isWhole />
              </b>
              <p class="num">
                {duration((Date.parse(endedOn) - Date.parse(startedOn)) / 1000)} · {text.mostViewers(mostViewers)} ·{' '}
                {bytes(bytesOut)} · {text.endReasons[endReason]}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
