import { type Engine, listEngineRuns, type RunRecord } from '#api/channels.ts'
import { callPage } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { duration } from '../../parts/values.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { addDays, dayOf, daysFrom, midnightMs } from './localDays.ts'
import { type Bar, barsByDay, type DayBars } from './runBars.ts'
import './channels.css'

const text = channelWords.runs
const DAYS = 7
/** The most engines with a line of their own in each day. */
const ENGINES_MOST = 4
const RUNS_OF_PAGE = 100
/** An engine that begins and ends all the time has more runs than the timeline shows. */
const PAGES_MOST = 3
const [WIDTH, HEIGHT] = [1000, 16]
/** A short run is still seen. */
const NARROWEST = 3

const { timeZone: OWN_ZONE } = Intl.DateTimeFormat().resolvedOptions()
const dayName = new Intl.DateTimeFormat(words.locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** The runs of an engine that touch the time from `fromMs` on, newest first. */
async function runsOf(engineId: string, fromMs: number, signal: AbortSignal): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  let cursor: string | undefined
  for (let page = 0; page < PAGES_MOST; page++) {
    const query = { limit: RUNS_OF_PAGE, cursor }
    const { rows, cursor: next } = await callPage(listEngineRuns, { path: { engineId }, query }, { signal })
    runs.push(...rows)
    const oldest = rows.at(-1)
    if (next === null || oldest === undefined || Date.parse(oldest.start) < fromMs) break
    cursor = next
  }
  return runs
}

/** When the engines of a channel ran in the last days: a bar for each day, with a line for each engine. */
export function RunTimeline({ engines }: { readonly engines: readonly Engine[] }) {
  const shown = engines.slice(0, ENGINES_MOST)
  const nowMs = Date.now()
  const today = dayOf(nowMs, OWN_ZONE)
  const days = daysFrom(addDays(today, 1 - DAYS), DAYS)
  const fromMs = midnightMs(days[0] ?? today, OWN_ZONE)
  const load = useLoad(
    (signal) => Promise.all(shown.map(({ id }) => runsOf(id, fromMs, signal))).then((runs) => runs.flat()),
    [today, shown.map(({ id, status }) => `${id} ${status}`).join()],
  )
  if (load.error) return <LoadError error={load.error} onRetry={load.reload} />
  if (!load.data) return <Bones />
  const ids = shown.map(({ id }) => id)
  const rows = barsByDay(load.data, ids, days, OWN_ZONE, nowMs)
  if (rows.every(({ bars }) => bars.length === 0)) return null
  return (
    <div class="pad">
      {rows.toReversed().map((row) => (
        <DayLine key={row.day} row={row} lanes={ids.length} />
      ))}
      <div class="run" aria-hidden="true">
        <span />
        <div class="days-label">
          {['00', '06', '12', '18', '24'].map((hour) => (
            <span key={hour}>{hour}</span>
          ))}
        </div>
        <span />
      </div>
      {engines.length > 1 && <p class="note">{text.lanes(shown.map(({ name }) => name).join(', '))}</p>}
    </div>
  )
}

function DayLine({ row: { day, bars, seconds }, lanes }: { readonly row: DayBars; readonly lanes: number }) {
  const name = dayName.format(new Date(`${day}T12:00:00Z`))
  const length = seconds === 0 ? text.notAtAll : duration(seconds)
  const failures = bars.filter(({ failed }) => failed).length
  return (
    <div class="run">
      <span>{name}</span>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={text.dayRan(name, length, failures)}
      >
        {bars.map((bar, index) => (
          <BarShape key={index} bar={bar} lanes={lanes} />
        ))}
      </svg>
      <span class="n">{seconds === 0 ? '' : length}</span>
    </div>
  )
}

/** A run; where it ended with an error, its end is marked. */
function BarShape({ bar: { lane, from, until, failed }, lanes }: { readonly bar: Bar; readonly lanes: number }) {
  const height = HEIGHT / lanes
  const at = { y: lane * height, height: lanes > 1 ? height - 1 : height }
  const [left, right] = [from * WIDTH, Math.max(until * WIDTH, from * WIDTH + NARROWEST)]
  const mark = Math.max(left, right - NARROWEST * 3)
  return (
    <>
      <rect class="f-accent" x={left} width={right - left} {...at} />
      {failed && <rect class="f-error" x={mark} width={right - mark} {...at} />}
    </>
  )
}
