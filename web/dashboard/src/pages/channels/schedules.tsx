import { useState } from 'preact/hooks'
import { type Channel, createScheduler, deleteScheduler, listSchedulers, type Scheduler } from '#api/channels.ts'
import { call, callPage } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Field, TextField, useSubmit } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

const text = words.schedules
const MOST = 100

/** The schedulers of one channel, in their own zones. */
export function Schedules({ channel }: { readonly channel: Channel }) {
  const list = useLoad(
    async (signal) => {
      const { rows } = await callPage(listSchedulers, { query: { limit: MOST } }, { signal })
      return rows.filter(({ channels }) => channels.some(({ channelId }) => channelId === channel.id))
    },
    [channel.id],
  )
  const [isMaking, setMaking] = useState(false)
  return (
    <Card
      title={text.title}
      isFlush
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
      <ul class="rows">
        {list.data?.map((one) => (
          <Row key={one.id} scheduler={one} onChanged={list.reload} />
        ))}
      </ul>
      {isMaking && <NewScheduler channel={channel} onMade={list.reload} onClose={() => setMaking(false)} />}
    </Card>
  )
}

function Row({ scheduler, onChanged }: { readonly scheduler: Scheduler; readonly onChanged: () => void }) {
  const { id, name, nextStart, startTime, endTime, timeZone, recurrence, skipped } = scheduler
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
        <b>{name}</b>
        <p>
          {text.times(startTime, endTime ?? '', timeZone)} {recurrence && <code>{recurrence}</code>}
        </p>
        <p>
          {nextStart ? text.next : text.over} {nextStart && <Time at={nextStart} isWhole />}
        </p>
        {late && <p>{text.skipped(late.reason)}</p>}
      </div>
      {canChange() && (
        <Menu
          label={words.parts.moreFor(name)}
          items={[{ icon: 'trash', text: text.delete, isDanger: true, onSelect: () => setAsking(true) }]}
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

type Repeats = 'once' | 'daily' | 'weekdays' | 'weekly'
const RULES: Readonly<Record<Repeats, string | undefined>> = {
  once: undefined,
  daily: 'RRULE:FREQ=DAILY',
  weekdays: 'RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  weekly: 'RRULE:FREQ=WEEKLY',
}

const today = (): string => new Date().toISOString().slice(0, 10)

interface NewSchedulerProps {
  readonly channel: Channel
  readonly onMade: () => void
  readonly onClose: () => void
}

function NewScheduler({ channel, onMade, onClose }: NewSchedulerProps) {
  const { timeZone: ownZone } = Intl.DateTimeFormat().resolvedOptions()
  const [draft, setDraft] = useState({
    name: channel.name,
    startDate: today(),
    startTime: '20:00',
    endTime: '21:00',
    timeZone: ownZone,
  })
  const [repeats, setRepeats] = useState<Repeats>('once')
  const change = (changes: Partial<typeof draft>): void => setDraft({ ...draft, ...changes })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(createScheduler, {
      body: { ...draft, recurrence: RULES[repeats], channels: [{ channelId: channel.id }] },
    })
    onClose()
    onMade()
  })
  return (
    <Dialog
      title={text.add}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={
        <>
          <Button onClick={onClose}>{words.parts.cancel}</Button>
          <Button look="primary" type="submit" isBusy={isBusy}>
            {text.add}
          </Button>
        </>
      }
    >
      {error && <Notice kind="error">{error.message}</Notice>}
      <TextField
        label={text.name}
        required
        error={fields['name']}
        value={draft.name}
        onValue={(name) => change({ name })}
      />
      <div class="pair">
        <TextField
          label={text.date}
          type="date"
          required
          error={fields['startDate']}
          value={draft.startDate}
          onValue={(startDate) => change({ startDate })}
        />
        <Field label={text.repeats}>
          {(attributes) => (
            <select
              {...attributes}
              class="input"
              value={repeats}
              onChange={(event) => setRepeats(event.currentTarget.value as Repeats)}
            >
              {(Object.keys(RULES) as Repeats[]).map((one) => (
                <option key={one} value={one}>
                  {text.rules[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <div class="pair">
        <TextField
          label={text.from}
          type="time"
          required
          error={fields['startTime']}
          value={draft.startTime}
          onValue={(startTime) => change({ startTime })}
        />
        <TextField
          label={text.to}
          type="time"
          required
          error={fields['endTime']}
          value={draft.endTime}
          onValue={(endTime) => change({ endTime })}
        />
      </div>
      <TextField
        label={text.zone}
        required
        error={fields['timeZone']}
        value={draft.timeZone}
        onValue={(timeZone) => change({ timeZone })}
      />
    </Dialog>
  )
}
