import { listChannels, listSchedulers, type Scheduler } from '#api/channels.ts'
import { callPage, everyRow } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { channelEdits } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { linkTo, type PageArgs } from '../../router.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { Calendar } from './calendar.tsx'
import { ChannelsFrame } from './frame.tsx'

const text = channelWords.calendar
const PER_PAGE = 100

/** When the schedulers of all channels start them. */
export function CalendarPage({ query }: PageArgs) {
  const load = useLoad(loadAll, [])
  useFollow(channelEdits, load.reload)
  const { data } = load
  return (
    <ChannelsFrame path="/channels/calendar">
      <Card title={text.view} isFlush>
        {load.error && <LoadError error={load.error} onRetry={load.reload} />}
        {!data && !load.error && <Bones rows={4} />}
        {data?.length === 0 && (
          <Empty title={text.none} action={<LinkButton href={linkTo('/channels')}>{words.channels.title}</LinkButton>}>
            {text.noneText}
          </Empty>
        )}
        {data && data.length > 0 && <Calendar schedulers={data} query={query} status={statusOf(data)} />}
      </Card>
    </ChannelsFrame>
  )
}

/** Those that begin next come first: there may be more than a calendar shows. */
async function loadAll(signal: AbortSignal): Promise<readonly Scheduler[]> {
  const [schedulers, channels] = await Promise.all([
    everyRow((cursor) => callPage(listSchedulers, { query: { limit: PER_PAGE, cursor } }, { signal })),
    everyRow((cursor) => callPage(listChannels, { query: { limit: PER_PAGE, cursor } }, { signal })),
  ])
  const names = new Map(channels.map(({ id, name }) => [id, name]))
  return schedulers.map((one) => ({ ...one, name: nameOf(one, names) })).toSorted(byNextStart)
}

/** A scheduler often has the name of its channel. */
function nameOf({ name, channelIds }: Scheduler, names: ReadonlyMap<string, string>): string {
  const all = channelIds.map((id) => names.get(id) ?? id).join(', ')
  return all === name || all === '' ? name : `${all}: ${name}`
}

const LATER = '9'
const byNextStart = (one: Scheduler, other: Scheduler): number =>
  (one.nextStart ?? LATER) < (other.nextStart ?? LATER) ? -1 : 1

const statusOf = (schedulers: readonly Scheduler[]): string => schedulers.map(({ status }) => status).join()
