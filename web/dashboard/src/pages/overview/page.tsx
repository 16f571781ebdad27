import { streams, totals } from '../../live.ts'
import { LinkButton } from '../../parts/button.tsx'
import { Gate } from '../../parts/gate.tsx'
import { Page } from '../../parts/page.tsx'
import { count } from '../../parts/values.tsx'
import { linkTo, type PageArgs } from '../../router.ts'
import { canChange, session } from '../../session.ts'
import { words } from '../../words/words.ts'
import { progress } from '../firstRun/progress.ts'
import { UnknownStreams } from '../streams/unknown.tsx'
import { StreamCard } from './card.tsx'
import { Attention, JustHappened, Refused, WatchedBy } from './side.tsx'
import { BandwidthPlot, type Range, useSeries, ViewersPlot } from './traffic.tsx'
import './overview.css'

const text = words.overview

/** The streams with the most viewers; the page of streams has all. */
const CARDS_MAX = 12

/** What is on the air, and what needs the user. */
export function OverviewPage({ query }: PageArgs) {
  const range: Range = query.get('range') === 'day' ? 'day' : 'hour'
  const series = useSeries(range)
  const isKnown = streams.value !== null
  const isEmpty = streams.value?.length === 0
  const wholeLink = linkTo('/', { ...Object.fromEntries(query), attention: 'all' })
  return (
    <Page title={text.title} actions={canChange() && <NewToken />}>
      {!isKnown && <UnknownStreams rows={3} />}
      {isEmpty && <NothingLive />}
      <div class={isKnown ? 'home' : 'home waits'}>
        {isKnown && !isEmpty && <StreamsNow />}
        <div class="stack main">
          <ViewersPlot series={series} range={range} />
          <BandwidthPlot series={series} />
          <JustHappened />
        </div>
        <div class="stack beside">
          <Attention isWhole={query.get('attention') === 'all'} wholeLink={wholeLink} />
          {!isEmpty && <WatchedBy />}
          <Refused />
        </div>
      </div>
    </Page>
  )
}

const NewToken = () => (
  <LinkButton icon="plus" href={linkTo('/tokens/publish/new')}>
    {text.newToken}
  </LinkButton>
)

function StreamsNow() {
  const all = streams.value ?? []
  const sorted = all.toSorted((a, b) => b.viewers - a.viewers)
  const others = sorted.length - CARDS_MAX
  return (
    <section class="section live" aria-labelledby="live-now">
      <div class="section-head">
        <h2 id="live-now">{text.liveNow}</h2>
        <p class="note num">{text.counts(count(all.length), count(totals.value.viewers))}</p>
      </div>
      <ul class="live-grid">
        {sorted.slice(0, CARDS_MAX).map((stream) => (
          <StreamCard key={stream.streamName} stream={stream} />
        ))}
      </ul>
      {others > 0 && <a href={linkTo('/streams')}>{text.more(count(others))}</a>}
    </section>
  )
}

function NothingLive() {
  const { value } = session
  const isUnfinished = value.kind === 'signedIn' && progress.value?.accountId === value.session.account.id
  return (
    <section class="card empty">
      <div>
        <Gate />
      </div>
      <h2>{text.empty}</h2>
      <p>{text.emptyText}</p>
      {canChange() && (
        <div class="actions">
          {isUnfinished && (
            <LinkButton look="primary" icon="next" href={linkTo('/first-run')}>
              {text.continueFirst}
            </LinkButton>
          )}
          <LinkButton look={isUnfinished ? 'plain' : 'primary'} icon="goLive" href={linkTo('/live')}>
            {text.goLive}
          </LinkButton>
          <LinkButton icon="copy" href={linkTo('/live', { from: 'program' })}>
            {text.addresses}
          </LinkButton>
        </div>
      )}
    </section>
  )
}
