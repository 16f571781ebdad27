import { useState } from 'preact/hooks'
import { type Channel, createScheduler } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { SelectField, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { addDays, dayOf } from './localDays.ts'

const text = channelWords.schedules

type Repeats = 'once' | 'daily' | 'weekdays' | 'weekly'
const RULES: Readonly<Record<Repeats, string | undefined>> = {
  once: undefined,
  daily: 'RRULE:FREQ=DAILY',
  weekdays: 'RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR',
  weekly: 'RRULE:FREQ=WEEKLY',
}

const START = '20:00'

/** Today, or tomorrow when the start has passed: schedulers begin in the future. */
function firstDay(timeZone: string): string {
  const nowMs = Date.now()
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone }).format(nowMs)
  const today = dayOf(nowMs, timeZone)
  return clock < START ? today : addDays(today, 1)
}

interface NewSchedulerProps {
  readonly channel: Channel
  readonly onMade: () => void
  readonly onClose: () => void
}

/** Asks when a scheduler starts a channel. */
export function NewScheduler({ channel, onMade, onClose }: NewSchedulerProps) {
  const { timeZone: ownZone } = Intl.DateTimeFormat().resolvedOptions()
  const [draft, setDraft] = useState({
    name: channel.name,
    startDate: firstDay(ownZone),
    startTime: START,
    endTime: '21:00',
    timeZone: ownZone,
  })
  const [repeats, setRepeats] = useState<Repeats>('once')
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(createScheduler, {
      body: { ...draft, recurrence: RULES[repeats], channels: [{ channelId: channel.id }] },
    })
    onClose()
    onMade()
  })
  const of = (name: keyof typeof draft) => ({
    required: true,
    error: fields[name],
    value: draft[name],
    onValue: (value: string) => setDraft({ ...draft, [name]: value }),
  })
  return (
    <Dialog
      title={text.add}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.add} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !Object.keys(fields).some((field) => field in draft) && <Notice kind="error">{error.message}</Notice>}
      <TextField label={text.name} {...of('name')} />
      <div class="pair">
        <TextField label={text.date} type="date" {...of('startDate')} />
        <SelectField
          label={text.repeats}
          value={repeats}
          choices={(Object.keys(RULES) as Repeats[]).map((one) => [one, text.rules[one]] as const)}
          onValue={setRepeats}
        />
      </div>
      <div class="pair">
        <TextField label={text.from} type="time" {...of('startTime')} />
        <TextField label={text.to} type="time" {...of('endTime')} />
      </div>
      <TextField label={text.zone} {...of('timeZone')} />
    </Dialog>
  )
}
