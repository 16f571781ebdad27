import { useState } from 'preact/hooks'
import {
  type Channel,
  deleteScheduler,
  listSchedulers,
  type Scheduler,
  startScheduler,
  stopScheduler,
  updateScheduler,
} from '#api/channels.ts'
import { call, callPage, everyRow } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { channelEdits } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu, type MenuItem } from '../../parts/menu.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { useWholeList } from '../../parts/wholeList.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { Calendar } from './calendar.tsx'
import { NewScheduler } from './newScheduler.tsx'

const text = channelWords.schedules
const PER_PAGE = 100

interface SchedulesProps {
  readonly channel: Channel
  /** The view of the calendar. */
  readonly query: URLSearchParams
}

/** The schedulers of one channel: a calendar in the zone of the viewer, and each of them in its own. */
export function Schedules({ channel, query }: SchedulesProps) {
  const list = useLoad(
    (signal) =>
      everyRow((cursor) => {
        const query = { limit: PER_PAGE, channelId: channel.id, cursor }
        return callPage(listSchedulers, { query }, { signal })
      }),
    // A scheduler begins and ends with its channel.
    [channel.id, channel.status],
  )
  useFollow(channelEdits, list.reload)
  const { shown, tools, foot } = useWholeList(list.data, ({ name }) => name)
  const [isMaking, setMaking] = useState(false)
  return (
    <Card
      title={text.title}
      isFlush
      foot={foot}
      aside={
        canChange() && (
          <Button size="small" icon="plus" onClick={() => setMaking(true)}>
            {text.add}
          </Button>
        )
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{text.none}</p>}
      {list.data && list.data.length > 0 && <Calendar schedulers={list.data} query={query} status={channel.status} />}
      {tools}
      {shown.length > 0 && (
        <ul class="rows lined">
          {shown.map((one) => (
            <Row key={one.id} scheduler={one} onChanged={list.reload} />
          ))}
        </ul>
      )}
      {isMaking && <NewScheduler channel={channel} onMade={list.reload} onClose={() => setMaking(false)} />}
    </Card>
  )
}

interface RowProps {
  readonly scheduler: Scheduler
  readonly onChanged: () => void
}

function Row({ scheduler, onChanged }: RowProps) {
  const { id, name, enabled, status, nextStart, startTime, endTime, timeZone, recurrence, skipped } = scheduler
  const [isAsking, setAsking] = useState(false)
  const remove = async (): Promise<void> => {
    await call(deleteScheduler, { path: { schedulerId: id } })
    onChanged()
  }
  const late = skipped?.[0]
  return (
    <li>
      <Icon name="calendar" />
      <div class="grow">
        <b>{name}</b> {status === 'active' && <State kind="live">{text.active}</State>}
        <p>
          {text.times(startTime, endTime ?? '', timeZone)} {recurrence && <code>{recurrence}</code>}
        </p>
        {!enabled && <p>{text.off}</p>}
        <p>
          {nextStart ? text.next : text.over} {nextStart && <Time at={nextStart} isWhole />}
        </p>
        {late && <p>{text.skipped(late.reason)}</p>}
      </div>
      {canChange() && (
        <Menu
          label={words.parts.moreFor(name)}
          items={[
            ...actionsOf(scheduler, onChanged),
            { icon: 'trash', text: text.delete, isDanger: true, onSelect: () => setAsking(true) },
          ]}
        />
      )}
      {isAsking && (
        <Confirm title={text.deleteTitle(name)} verb={text.delete} onConfirm={remove} onClose={() => setAsking(false)}>
          {text.deleteText}
        </Confirm>
      )}
    </li>
  )
}

/** What a scheduler can do now: begin or end by hand, and be switched on or off. */
function actionsOf({ id, name, enabled, status }: Scheduler, onChanged: () => void): readonly MenuItem[] {
  const path = { schedulerId: id }
  const then = (change: Promise<unknown>, said: string): Promise<void> =>
    orToast(
      change.then(() => {
        if (said !== '') toast(said)
        onChanged()
      }),
    )
  const stop: MenuItem = {
    icon: 'stop',
    text: text.stop,
    onSelect: () => void then(call(stopScheduler, { path }), text.stopped(name)),
  }
  const begin: MenuItem = {
    icon: 'play',
    text: text.begin,
    onSelect: () => void then(call(startScheduler, { path }), text.began(name)),
  }
  const toggle: MenuItem = {
    icon: enabled ? 'pause' : 'clock',
    text: enabled ? text.switchOff : text.switchOn,
    onSelect: () => void then(call(updateScheduler, { path, body: { enabled: !enabled } }), ''),
  }
  if (status === 'terminated') return []
  return [status === 'active' ? stop : begin, toggle]
}
