import { useState } from 'preact/hooks'
import {
  type AbrLadder,
  type Channel,
  type ChannelMonitoring,
  type Distribution,
  type Engine,
  type EngineMonitoring,
  type Ingest,
  type IngestMonitoring,
  listDistributions,
  listEngineMonitoring,
  listEngines,
  listIngestMonitoring,
  listIngests,
  readChannel,
  readChannelMonitoring,
  readLadder,
  startChannel,
  stopChannel,
} from '#api/channels.ts'
import { call, callPage } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useEvery } from '../../follow.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { orToast } from '../../parts/toast.tsx'
import { count } from '../../parts/values.tsx'
import { linkTo, type PageArgs } from '../../router.ts'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import './channels.css'
import { DistributionCard } from './distributionCard.tsx'
import { EngineCard } from './engineCard.tsx'
import { EngineTargets } from './engineTargets.tsx'
import { IngestCard } from './ingestCard.tsx'
import { Runs } from './runs.tsx'
import { Schedules } from './schedules.tsx'
import { SlateCard } from './slateCard.tsx'
import { isRunning, STATUS } from './status.ts'

const text = channelWords.channel
/** How often the state of a channel is read while its page is open. */
const LOOK_MS = 3000
/** A channel has at most this many parts of a kind. */
const MOST = 100

interface Whole {
  readonly channel: Channel
  readonly ingests: readonly Ingest[]
  readonly engines: readonly Engine[]
  readonly distributions: readonly Distribution[]
  readonly now: ChannelMonitoring
  readonly ingestsNow: readonly IngestMonitoring[]
  readonly enginesNow: readonly EngineMonitoring[]
}

async function loadWhole(channelId: string, signal: AbortSignal): Promise<Whole> {
  const [path, query, options] = [{ channelId }, { limit: MOST }, { signal }]
  const rows = <R,>(page: Promise<{ readonly rows: R }>): Promise<R> => page.then((one) => one.rows)
  const [channel, ingests, engines, distributions, now, ingestsNow, enginesNow] = await Promise.all([
    call(readChannel, { path }, options),
    rows(callPage(listIngests, { path, query }, options)),
    rows(callPage(listEngines, { path, query }, options)),
    rows(callPage(listDistributions, { path, query }, options)),
    call(readChannelMonitoring, { path }, options),
    rows(callPage(listIngestMonitoring, { path, query }, options)),
    rows(callPage(listEngineMonitoring, { path, query }, options)),
  ])
  return { channel, ingests, engines, distributions, now, ingestsNow, enginesNow }
}

/** One channel, drawn from the publisher to the viewer. */
export function ChannelPage({ values, query }: PageArgs) {
  const channelId = values['id'] ?? ''
  const load = useLoad((signal) => loadWhole(channelId, signal), [channelId])
  const { data, reload, reloaded } = load
  useEvery(LOOK_MS, reload)
  const crumb = { text: words.channels.title, href: linkTo('/channels') }
  if (!data) {
    return (
      <Page title={words.channels.channel} crumb={crumb}>
        {load.error ? <LoadError error={load.error} onRetry={reload} /> : <Bones rows={5} />}
      </Page>
    )
  }
  return (
    <Page
      title={data.channel.name}
      crumb={crumb}
      sub={<Sub whole={data} />}
      actions={canChange() && <StartStop whole={data} onChanged={reloaded} />}
    >
      {load.error && <LoadError error={load.error} onRetry={reload} />}
      <Flow whole={data} onChanged={reloaded} />
      <SlateCard channel={data.channel} onChanged={reloaded} />
      <Schedules channel={data.channel} query={query} />
      <Runs channelId={channelId} engines={data.engines} />
    </Page>
  )
}

const viewersOf = ({ now }: Whole): number => now.distributions.reduce((sum, { viewers }) => sum + viewers, 0)

function Sub({ whole }: { readonly whole: Whole }) {
  const { channel, now } = whole
  return (
    <span class="tags">
      <State kind={STATUS[now.status]} look="pill">
        {words.channels.states[now.status]}
      </State>
      <span class="tag num">{text.watching(count(viewersOf(whole)))}</span>
      <span class="tag mono">{channel.id}</span>
    </span>
  )
}

function StartStop({ whole, onChanged }: { readonly whole: Whole; readonly onChanged: () => Promise<void> }) {
  const [isAsking, setAsking] = useState(false)
  const path = { channelId: whole.channel.id }
  const start = useSubmit(async () => {
    await call(startChannel, { path })
    await onChanged()
  })
  const stop = async (): Promise<void> => {
    await call(stopChannel, { path })
    await onChanged()
  }
  const viewers = viewersOf(whole)
  if (!isRunning(whole.now)) {
    return (
      <>
        {start.error && <Notice kind="error">{start.error.message}</Notice>}
        <Button
          look="primary"
          icon="play"
          isBusy={start.isBusy}
          disabled={whole.now.status === 'stopping'}
          onClick={() => start.onSubmit()}
        >
          {words.channels.start}
        </Button>
      </>
    )
  }
  return (
    <>
      <Button look="danger" icon="stop" onClick={() => (viewers > 0 ? setAsking(true) : orToast(stop()))}>
        {words.channels.stop}
      </Button>
      {isAsking && (
        <Confirm
          title={text.stopTitle(whole.channel.name)}
          verb={words.channels.stop}
          onConfirm={stop}
          onClose={() => setAsking(false)}
        >
          {text.stopText(count(viewers))}
        </Confirm>
      )}
    </>
  )
}

/** The ladders of engines, by their ids. An engine takes a changed ladder at its next start, so they are read again then. */
function useLadders(engines: readonly Engine[]): ReadonlyMap<string, AbrLadder> {
  const ids = [...new Set(engines.map(({ quality }) => quality.abrLadderId))]
  const { data = [] } = useLoad(
    (signal) => Promise.all(ids.map((ladderId) => call(readLadder, { path: { ladderId } }, { signal }))),
    [ids.join(), engines.map(isRunning).join()],
  )
  return new Map(data.map((ladder) => [ladder.id, ladder]))
}

function Flow({ whole, onChanged }: { readonly whole: Whole; readonly onChanged: () => Promise<void> }) {
  const { ingests, engines, distributions, now, ingestsNow, enginesNow } = whole
  const ladders = useLadders(engines)
  return (
    <div class="flow">
      <section aria-labelledby="flow-ingests">
        <h2 id="flow-ingests">{text.ingests}</h2>
        {ingests.length === 0 && <p class="note">{text.noIngest}</p>}
        {ingests.map((one) => (
          <IngestCard
            key={one.id}
            ingest={one}
            now={ingestsNow.find(({ id }) => id === one.id)}
            onChanged={onChanged}
          />
        ))}
      </section>
      <section aria-labelledby="flow-engines">
        <h2 id="flow-engines">{text.engines}</h2>
        {engines.length === 0 && <p class="note">{text.noEngine}</p>}
        {engines.map((one) => (
          <div key={one.id} class="stack">
            <EngineCard
              engine={one}
              now={enginesNow.find(({ id }) => id === one.id)}
              ladder={ladders.get(one.quality.abrLadderId)}
              onChanged={onChanged}
            />
            <EngineTargets engine={one} now={enginesNow.find(({ id }) => id === one.id)} onChanged={onChanged} />
          </div>
        ))}
      </section>
      <section aria-labelledby="flow-distributions">
        <h2 id="flow-distributions">{text.distributions}</h2>
        {distributions.length === 0 && <p class="note">{text.noDistribution}</p>}
        {distributions.map((one) => (
          <DistributionCard
            key={one.id}
            distribution={one}
            viewers={now.distributions.find(({ id }) => id === one.id)?.viewers ?? 0}
            onChanged={onChanged}
          />
        ))}
      </section>
    </div>
  )
}
