import { useState } from 'preact/hooks'
import { streams, type StreamOnAir, updates } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Empty, Notice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { bitrate, Since } from '../../parts/values.tsx'
import { linkTo, type PageArgs } from '../../router.ts'
import { canChange, session } from '../../session.ts'
import { useStreamNow } from '../../streamNow.ts'
import { words } from '../../words/words.ts'
import { PastBroadcasts } from './broadcasts.tsx'
import { Embed } from './embed.tsx'
import { EndStream } from './end.tsx'
import { HealthState } from './format.tsx'
import { Health } from './health.tsx'
import { LastHour } from './lastHour.tsx'
import { Players } from './player.tsx'
import { RecordButton } from './record.tsx'
import { Publisher, RecentRefusals, Recordings } from './side.tsx'
import { Spares } from './spares.tsx'
import { TargetEvents } from './targetEvents.tsx'
import { Targets } from './targets.tsx'
import { Watching } from './watching.tsx'
import './stream.css'

const text = words.stream

/** Everything about one stream. */
export function StreamPage({ values }: PageArgs) {
  const streamName = values['name'] ?? ''
  const { stream } = useStreamNow(streamName)
  const [isEnding, setEnding] = useState(false)
  const { value } = session
  const accountId = value.kind === 'signedIn' ? value.session.account.id : ''
  return (
    <Page
      title={streamName}
      crumb={{ text: words.frame.streams, href: linkTo('/streams') }}
      sub={stream ? <Tags stream={stream} /> : streams.value === null && !isAway() && <NotKnownYet />}
      actions={
        stream &&
        canChange() && (
          <>
            <RecordButton stream={stream} />
            <Button look="danger" icon="stop" onClick={() => setEnding(true)}>
              {text.end}
            </Button>
          </>
        )
      }
    >
      <div class="cols form-side">
        <div class="stack">
          {stream ? <Live stream={stream} /> : <NotLive streamName={streamName} />}
          <LastHour streamName={streamName} />
          {stream && <Watching streamName={streamName} viewers={stream.viewers} />}
        </div>
        <div class="stack">
          <Embed accountId={accountId} streamName={streamName} stream={stream} />
          {stream && <Publisher stream={stream} />}
          {stream?.spares !== undefined && <Spares stream={stream} />}
          {stream?.restreams && <Targets targets={stream.restreams} />}
          <TargetEvents streamName={streamName} stream={stream} />
          <Recordings streamName={streamName} isRecorded={stream?.recorded} />
          <PastBroadcasts streamName={streamName} isLive={stream !== undefined} />
          <RecentRefusals streamName={streamName} />
        </div>
      </div>
      {isEnding && stream && <EndStream stream={stream} onClose={() => setEnding(false)} />}
    </Page>
  )
}

const isAway = (): boolean => updates.value === 'off'

/** As high as the tags that come, so that nothing jumps. */
const NotKnownYet = () => (
  <span class="tags">
    <State kind="idle" look="pill">
      {words.parts.loading}
    </State>
  </span>
)

const Tags = ({ stream: { startedOn, health, protocol, recorded, tokenLabel } }: { readonly stream: StreamOnAir }) => (
  <span class="tags">
    <State kind="live" look="pill">
      {words.goLive.live} <Since since={startedOn} />
    </State>
    <HealthState health={health} look="pill" />
    {recorded && <span class="tag">{text.recordingNow}</span>}
    <span class="tag">{protocol.toUpperCase()}</span>
    {tokenLabel !== undefined && <span class="tag">{text.withToken(tokenLabel)}</span>}
  </span>
)

function Live({ stream }: { readonly stream: StreamOnAir }) {
  const { health, bitrateLowest = 0, bitrateHighest = 0 } = stream
  return (
    <>
      <Players stream={stream} />
      {health === 'uneven' && (
        <Notice kind="warn">
          <b>{text.uneven(bitrate(bitrateLowest), bitrate(bitrateHighest))}</b> {text.unevenText}
        </Notice>
      )}
      {health === 'stalled' && <Notice kind="error">{text.stalled}</Notice>}
      <Health streamName={stream.streamName} />
    </>
  )
}

const NotLive = ({ streamName }: { readonly streamName: string }) =>
  streams.value === null ? (
    isAway() ? (
      <Notice kind="error">{words.frame.noAnswer}</Notice>
    ) : (
      <div class="screen" aria-busy="true" />
    )
  ) : (
    <section class="card">
      <Empty
        title={text.notLive}
        action={
          canChange() && (
            <LinkButton icon="goLive" href={linkTo('/live', { stream: streamName })}>
              {words.frame.goLive}
            </LinkButton>
          )
        }
      >
        {text.notLiveText(streamName)}
      </Empty>
    </section>
  )
