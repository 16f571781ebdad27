import { useState } from 'preact/hooks'
import { type Channel, createScheduler } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'

const text = words.schedules

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

/** Asks when a scheduler starts a channel. */
export function NewScheduler({ channel, onMade, onClose }: NewSchedulerProps) {
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
