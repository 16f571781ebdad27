import { useState } from 'preact/hooks'
import { listSubscribeTokens, readSubscribeToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { streams, type StreamOnAir } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { Empty, Notice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { bitrate, Since } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { canChange, session } from '../../session.ts'
import { useStreamNow } from '../../streamNow.ts'
import { words } from '../../words/words.ts'
import type { PageArgs } from '../pages.ts'
import { PastBroadcasts } from './broadcasts.tsx'
import { EndStream } from './end.tsx'
import { HealthState } from './format.tsx'
import { Players } from './player.tsx'
import { Embed, Publisher, RecentRefusals, Recordings } from './side.tsx'
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
      crumb={{ text: words.overview.title, href: linkTo('/') }}
      sub={stream && <Tags stream={stream} />}
      actions={
        stream &&
        canChange() && (
          <Button look="danger" icon="stop" onClick={() => setEnding(true)}>
            {text.end}
          </Button>
        )
      }
    >
      <div class="cols form-side">
        <div class="stack">
          {stream ? <Live stream={stream} /> : <NotLive streamName={streamName} />}
          {stream && <Watching streamName={streamName} viewers={stream.viewers} />}
        </div>
        <div class="stack">
          <Embed accountId={accountId} streamName={streamName} />
          {stream && <Publisher stream={stream} />}
          <Recordings streamName={streamName} />
          <PastBroadcasts streamName={streamName} isLive={stream !== undefined} />
          <RecentRefusals streamName={streamName} />
        </div>
      </div>
      {isEnding && stream && <EndStream stream={stream} onClose={() => setEnding(false)} />}
    </Page>
  )
}

const Tags = ({ stream: { startedOn, health, protocol, tokenLabel } }: { readonly stream: StreamOnAir }) => (
  <span class="tags">
    <State kind="live" look="pill">
      {words.goLive.live} <Since since={startedOn} />
    </State>
    <HealthState health={health} look="pill" />
    <span class="tag">{protocol.toUpperCase()}</span>
    {tokenLabel !== undefined && <span class="tag">{text.withToken(tokenLabel)}</span>}
  </span>
)

function Live({ stream }: { readonly stream: StreamOnAir }) {
  const { streamName, secured, health, bitrateLowest = 0, bitrateHighest = 0 } = stream
  const token = useLoad(
    (signal) => (secured ? tokenFor(streamName, signal) : Promise.resolve('')),
    [streamName, secured],
  )
  return (
    <>
      {token.data === null ? (
        <Notice>
          {text.needsToken} <a href={linkTo('/tokens/subscribe/new')}>{words.goLive.makeToken}</a>
        </Notice>
      ) : (
        token.data !== undefined && <Players stream={stream} token={token.data} />
      )}
      {health === 'uneven' && (
        <Notice kind="warn">
          <b>{text.uneven(bitrate(bitrateLowest), bitrate(bitrateHighest))}</b> {text.unevenText}
        </Notice>
      )}
      {health === 'stalled' && <Notice kind="error">{text.stalled}</Notice>}
    </>
  )
}

/** The value of a subscribe token that admits this page to the stream; null: the newest hundred have none. */
async function tokenFor(streamName: string, signal: AbortSignal): Promise<string | null> {
  const query = { sortBy: 'AddedOn', isDescending: true, itemsOnPage: 100 } as const
  const all = await call(listSubscribeTokens, { query }, { signal })
  const usable = all.find(
    ({ isActive, expiresOn, streams: of, allowedOrigins }) =>
      isActive &&
      (!expiresOn || Date.parse(expiresOn) > Date.now()) &&
      allowedOrigins.length === 0 &&
      of.some((one) => !one.isRegex && one.streamName === streamName),
  )
  if (!usable) return null
  return (await call(readSubscribeToken, { path: { tokenId: String(usable.id) } }, { signal })).token ?? null
}

const NotLive = ({ streamName }: { readonly streamName: string }) =>
  streams.value === null ? null : (
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
