import { type Answer, listBroadcasts, readAccessSummary, readAttention } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { changes, happenings, type Happening, refusals, streams, totals } from '../../live.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { count, duration, Time } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { linkToAccess } from '../access/filters.ts'
import { type Need, needsOf } from './attention.ts'
import { timelineOf } from './timeline.ts'
import '../../parts/bars.css'

const text = words.overview

/** What needs the user, the worst first. `wholeLink` shows all of it. */
export function Attention({ isWhole, wholeLink }: { readonly isWhole: boolean; readonly wholeLink: string }) {
  // A stream that becomes uneven is one more.
  const health = (streams.value ?? []).map((one) => one.health).join()
  const load = useLoad((signal) => call(readAttention, {}, { signal }), [], `${changes.value} ${health}`)
  const { rows, more } = needsOf(load.data ?? [], isWhole)
  return (
    <Card
      title={text.attention.title}
      aside={rows.length > 0 && <span class="note">{rows.length + more}</span>}
      isFlush
    >
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones rows={2} />}
      <ul class="rows">
        {rows.map((need) => (
          <NeedRow key={need.title + need.note} {...need} />
        ))}
        {load.data && rows.length === 0 && <Nothing />}
        {more > 0 && (
          <li>
            <a href={wholeLink}>{text.attention.more(more)}</a>
          </li>
        )}
      </ul>
    </Card>
  )
}

const NeedRow = ({ kind, title, note, href }: Need) => (
  <li>
    <Shape kind={kind} isSmall />
    <div class="grow">
      <b>{title}</b>
      <p>
        {note && `${endedSentence(note)} `}
        {href && (
          <a href={href} aria-label={[text.attention.closer, title, note].filter(Boolean).join(': ')}>
            {text.attention.closer}
          </a>
        )}
      </p>
    </div>
  </li>
)

/** What the server says has no full stop at its end. */
const endedSentence = (note: string): string => (/[.:!?…]$/.test(note) ? note : `${note}.`)

const Nothing = () => (
  <li>
    <Shape kind="ok" isSmall />
    <div class="grow">
      <b>{text.attention.nothing}</b>
      <p>{text.attention.nothingNote}</p>
    </div>
  </li>
)

interface Bar {
  readonly name: string
  readonly value: number
  readonly href?: string
}

function Bars({ bars, colour }: { readonly bars: readonly Bar[]; readonly colour: string }) {
  const all = Math.max(1, ...bars.map(({ value }) => value))
  return (
    <ul class="bars">
      {bars.map(({ name, value, href }) => (
        <li key={name}>
          <span>{href ? <a href={href}>{name}</a> : name}</span>
          <span class="n">{count(value)}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class={colour} width={Math.round((100 * value) / all)} height="6" />
          </svg>
        </li>
      ))}
    </ul>
  )
}

/** How the viewers of all streams watch. */
export function WatchedBy() {
  const { whep, hls } = totals.value
  const bars = [
    { name: text.whep, value: whep },
    { name: text.hls, value: hls },
  ]
  return (
    <Card
      title={text.watchedBy}
      aside={<a class="note" href={linkTo('/analytics')} children={words.frame.analytics} />}
    >
      <Bars bars={bars} colour="f1" />
    </Card>
  )
}

/** Refusals of the last 24 hours by reason. */
export function Refused() {
  const load = useLoad((signal) => call(readAccessSummary, {}, { signal }), [], refusals.value)
  const { data } = load
  const link = linkToAccess({ outcome: 'refused' })
  const bars = (data?.codes ?? []).map(({ code, count: value }) => ({
    name: words.access.codes[code] ?? code,
    value,
    href: linkToAccess({ code }),
  }))
  return (
    <Card
      title={text.refused}
      aside={data && data.refused > 0 && <a class="note" href={link} children={text.all(count(data.refused))} />}
    >
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {data && data.refused === 0 ? <p class="note">{text.noRefusal}</p> : <Bars bars={bars} colour="f3" />}
    </Card>
  )
}

const KINDS: Readonly<Record<Happening['what'], StateKind>> = {
  started: 'live',
  ended: 'off',
  impaired: 'warn',
  uneven: 'warn',
  stalled: 'error',
  steady: 'ok',
}

const LINES_MAX = 12

/** What happened lately, the newest first: starts, ends with their reason, and changes of health while the page is open. */
export function JustHappened() {
  const ends = happenings.value.filter(({ what }) => what === 'ended').length
  const past = useLoad((signal) => call(listBroadcasts, { query: { limit: LINES_MAX } }, { signal }), [ends])
  const lines = timelineOf(happenings.value, streams.value ?? [], past.data ?? [], LINES_MAX)
  return (
    <Card title={text.happened}>
      {past.error && <LoadError error={past.error} onRetry={past.reload} />}
      {past.data && lines.length === 0 && <p class="note">{text.nothingHappened}</p>}
      <ol class="timeline">
        {lines.map(({ key, at, what, streamName, tokenLabel, broadcast }) => (
          <li key={key}>
            <Time at={at} />
            <Shape kind={KINDS[what]} />
            <div>
              {text.happenings[what](streamName)}
              {broadcast ? <p>{endOf(broadcast)}</p> : tokenLabel !== '' && <p>{tokenLabel}</p>}
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}

function endOf({
  startedOn,
  endedOn,
  mostViewers,
  endReason = 'unknown',
}: Answer<typeof listBroadcasts>[number]): string {
  const length = duration((Date.parse(endedOn) - Date.parse(startedOn)) / 1000)
  return `${words.stream.endReasons[endReason]} · ${length} · ${words.stream.mostViewers(mostViewers)}`
}
