import { listSchedulerOccurrences, type Scheduler } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Segment } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Time } from '../../parts/values.tsx'
import { setQuery } from '../../router.ts'
import { isolated } from '../../words/complete.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { firstOf, type Planned, type Slot, slotsByDay, spanOf, timesOf } from './calendarSlots.ts'
import { type CalendarView, dayOf, daysOfView, readDay, stepDay } from './localDays.ts'
import './calendar.css'

const text = channelWords.calendar
/** The most schedulers whose occurrences a calendar shows; each is a request. */
const SCHEDULERS_MOST = 50

const { timeZone: OWN_ZONE } = Intl.DateTimeFormat().resolvedOptions()
const clock = new Intl.DateTimeFormat(words.locale, { hour: '2-digit', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(words.locale, { weekday: 'short', day: 'numeric', timeZone: 'UTC' })
const whole = new Intl.DateTimeFormat(words.locale, { dateStyle: 'full', timeZone: 'UTC' })
const monthName = new Intl.DateTimeFormat(words.locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })
const weekName = new Intl.DateTimeFormat(words.locale, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
})

const noon = (day: string): Date => new Date(`${day}T12:00:00Z`)

interface CalendarProps {
  readonly schedulers: readonly Scheduler[]
  /** The view and the day stand in the address. */
  readonly query: URLSearchParams
  /** Changes when an occurrence may have begun or ended. */
  readonly status: string
}

/** When schedulers start their channels, as the server computes it, in the zone of the person who looks. */
export function Calendar({ schedulers, query, status }: CalendarProps) {
  const nowMs = Date.now()
  const today = dayOf(nowMs, OWN_ZONE)
  const view: CalendarView = query.get('calendar') === 'month' ? 'month' : 'week'
  const day = readDay(query.get('day'), today)
  const days = daysOfView(view, day)
  const shown = schedulers.slice(0, SCHEDULERS_MOST)
  const load = useLoad(
    (signal) => Promise.all(shown.map((one) => occurrencesOf(one, days, signal))),
    [view, days[0], status, shown.map(({ id, updatedAt }) => `${id} ${updatedAt}`).join()],
  )
  const slots = slotsByDay(load.data ?? [], days, OWN_ZONE, nowMs)
  return (
    <>
      <Head view={view} day={day} days={days} today={today} />
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones />}
      {load.data && (
        <div class="calendar" role="list" aria-label={titleOf(view, day, days)}>
          {days.map((one) => (
            <Day
              key={one}
              day={one}
              slots={slots.get(one) ?? []}
              isToday={one === today}
              isOutside={view === 'month' && one.slice(0, 7) !== day.slice(0, 7)}
            />
          ))}
        </div>
      )}
      {load.data && [...slots.values()].every((one) => one.length === 0) && <p class="pad note">{text.nothing}</p>}
      {load.data && <Next schedulers={schedulers} days={days} today={today} />}
      {schedulers.length > shown.length && <Notice kind="warn">{text.more(shown.length, schedulers.length)}</Notice>}
    </>
  )
}

interface NextProps {
  readonly schedulers: readonly Scheduler[]
  readonly days: readonly string[]
  readonly today: string
}

/** What begins next, if it is later than the shown days, as on the last day of a week. */
function Next({ schedulers, days, today }: NextProps) {
  const next = firstOf(schedulers)
  if (next === null || !days.includes(today)) return null
  const day = dayOf(Date.parse(next.start), OWN_ZONE)
  if (days.includes(day)) return null
  return (
    <p class="pad note">
      {text.next}: <Time at={next.start} isWhole />, {next.name}{' '}
      <Button size="small" onClick={() => setQuery({ day })}>
        {text.show}
      </Button>
    </p>
  )
}

async function occurrencesOf(scheduler: Scheduler, days: readonly string[], signal: AbortSignal): Promise<Planned> {
  const path = { schedulerId: scheduler.id }
  return { scheduler, occurrences: await call(listSchedulerOccurrences, { path, query: spanOf(days) }, { signal }) }
}

const titleOf = (view: CalendarView, day: string, days: readonly string[]): string =>
  view === 'month' ? monthName.format(noon(day)) : weekName.formatRange(noon(days[0] ?? day), noon(days.at(-1) ?? day))

interface HeadProps {
  readonly view: CalendarView
  readonly day: string
  readonly days: readonly string[]
  readonly today: string
}

function Head({ view, day, days, today }: HeadProps) {
  const goTo = (to: string): void => setQuery({ day: to === today ? undefined : to })
  return (
    <div class="tools">
      <h3 class="calendar-title" aria-live="polite">
        {titleOf(view, day, days)}
      </h3>
      <div class="calendar-moves">
        <IconButton icon="back" label={text.before[view]} onClick={() => goTo(stepDay(view, day, -1))} />
        <Button size="small" disabled={days.includes(today) && day === today} onClick={() => goTo(today)}>
          {text.today}
        </Button>
        <IconButton icon="forward" label={text.after[view]} onClick={() => goTo(stepDay(view, day, 1))} />
      </div>
      <Segment
        label={text.view}
        choices={[
          ['week', text.week],
          ['month', text.month],
        ]}
        value={view}
        onChange={(chosen) => setQuery({ calendar: chosen === 'week' ? undefined : chosen })}
      />
      <p class="note">{text.zone(OWN_ZONE)}</p>
    </div>
  )
}

interface DayProps {
  readonly day: string
  readonly slots: readonly Slot[]
  readonly isToday: boolean
  /** It belongs to the month before or after. */
  readonly isOutside: boolean
}

function Day({ day, slots, isToday, isOutside }: DayProps) {
  const marks = [isToday ? 'today' : '', isOutside ? 'outside' : '', slots.length === 0 ? 'free' : '']
  return (
    <div role="listitem" class={marks.filter(Boolean).join(' ')}>
      <b>
        <span aria-hidden="true">{weekday.format(noon(day))}</span>
        <span class="sr">
          {whole.format(noon(day))}
          {isToday && `, ${text.today}`}
        </span>
      </b>
      <div class="slots">
        {slots.map((slot) => (
          <SlotLine key={slot.key} slot={slot} />
        ))}
      </div>
    </div>
  )
}

const KINDS: Readonly<Record<Slot['state'], string>> = {
  active: ' now',
  skipped: ' skipped',
  over: ' done',
  planned: '',
}

/** A slot as short as its day is wide; its title, screen readers and phones get all of it. */
function SlotLine({ slot }: { readonly slot: Slot }) {
  const sentence = sentenceOf(slot)
  return (
    <span class={`slot${KINDS[slot.state]}`} title={sentence}>
      <span class="slot-short" aria-hidden="true">
        {timesOf(slot, (ms) => clock.format(ms))} {slot.name}
      </span>
      <span class="slot-whole">{sentence}</span>
    </span>
  )
}

function sentenceOf(slot: Slot): string {
  const { name, timeZone, state, skipped } = slot
  const times = timesOf(slot, (ms) => clock.format(ms))
  const there = timeZone === OWN_ZONE ? '' : text.there(timesIn(slot, timeZone), timeZone)
  const word = state === 'skipped' ? text.skipped(skipped ?? '') : text.states[state]
  return [`${times} ${isolated(name)}`, there, word].filter(Boolean).join(' · ')
}

/** The times of an occurrence in the zone of its scheduler. */
function timesIn({ startMs, endMs }: Slot, timeZone: string): string {
  const format = new Intl.DateTimeFormat(words.locale, { hour: '2-digit', minute: '2-digit', timeZone })
  return endMs === null ? format.format(startMs) : `${format.format(startMs)}–${format.format(endMs)}`
}
