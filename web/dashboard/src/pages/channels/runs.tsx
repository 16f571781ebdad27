import { type Engine, listChannelRuns, type RunRecord } from '#api/channels.ts'
import { callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { duration, Since, Time } from '../../parts/values.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { RunTimeline } from './runTimeline.tsx'

const text = channelWords.runs

interface RunsProps {
  readonly channelId: string
  readonly engines: readonly Engine[]
}

/** When the engines of a channel ran, and why each run ended. */
export function Runs({ channelId, engines }: RunsProps) {
  const list = useWalk(
    (cursor, signal) => callPage(listChannelRuns, { path: { channelId }, query: { limit: 10, cursor } }, { signal }),
    [channelId, engines.map(({ status }) => status).join()],
  )
  return (
    <Card
      title={text.title}
      isFlush
      foot={
        list.data && <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      <RunTimeline engines={engines} />
      {list.data?.length === 0 && <p class="pad note">{text.none}</p>}
      {list.data && list.data.length > 0 && (
        <Table caption={text.title} rows={list.data} keyOf={({ id }) => id} columns={columnsOf(engines)} />
      )}
    </Card>
  )
}

const columnsOf = (engines: readonly Engine[]): Column<RunRecord>[] => [
  { id: 'start', title: text.start, cell: ({ start }) => <Time at={start} isWhole /> },
  {
    id: 'engine',
    title: text.engine,
    priority: 2,
    cell: ({ engineId }) => engines.find(({ id }) => id === engineId)?.name ?? <code>{engineId}</code>,
  },
  {
    id: 'cause',
    title: text.cause,
    priority: 3,
    cell: ({ startType, startName }) => startName ?? text.causes[startType],
  },
  {
    id: 'length',
    title: text.length,
    kind: 'number',
    cell: ({ start, end }) => (end ? duration((Date.parse(end) - Date.parse(start)) / 1000) : <Since since={start} />),
  },
  {
    id: 'end',
    title: text.end,
    cell: (run) => {
      const { end, stopType = 'api', stopName } = run
      if (!end) return <State kind="live">{text.running}</State>
      return (
        <>
          <State kind={stopType === 'error' ? 'error' : 'off'}>{stopName ?? text.causes[stopType]}</State>
          <span class="sub">{reasonOf(run, engines)}</span>
        </>
      )
    },
  },
]

/** A run ends with an error in two ways only: its node was lost, or its engine was deleted. */
function reasonOf({ engineId, stopType = 'api' }: RunRecord, engines: readonly Engine[]): string {
  const isDeleted = stopType === 'error' && !engines.some(({ id }) => id === engineId)
  return isDeleted ? text.ends.deleted : text.ends[stopType]
}
