import { useEffect, useState } from 'preact/hooks'
import { readPublishToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { air, goLive, preview, showSource } from '../../broadcast/broadcast.ts'
import { ProgramAddresses } from '../../broadcast/programAddresses.tsx'
import { Refusal, SourceNotice } from '../../broadcast/problems.tsx'
import { FIRST_QUALITY } from '../../broadcast/quality.ts'
import { AirBadge, Screen } from '../../broadcast/screen.tsx'
import { SourceChoice, useSource } from '../../broadcast/sourceChoice.tsx'
import { useStreamNow } from '../../streamNow.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { LoadError } from '../../parts/notice.tsx'
import { State } from '../../parts/state.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { keep, type Progress } from './progress.ts'
import { Solo } from './solo.tsx'

const text = words.firstRun

/** Step 3: puts the stream on the air, from this page or from another program. It goes on by itself when media arrives. */
export function AirStep({ at }: { readonly at: Progress }) {
  const { publishTokenId, streamName } = at
  const token = useLoad(
    (signal) => call(readPublishToken, { path: { tokenId: String(publishTokenId) } }, { signal }),
    [publishTokenId],
  )
  const { isLive } = useStreamNow(streamName)
  useEffect(() => {
    if (isLive) keep({ ...at, step: 4 })
  }, [isLive])
  return (
    <Solo step={3} title={text.airTitle} lead={text.airLead}>
      {token.error && <LoadError error={token.error} onRetry={token.reload} />}
      <div class="two-ways">
        <FromBrowser streamName={streamName} token={token.data?.token} />
        <section class="card pad stack" aria-labelledby="from-obs">
          <h2 id="from-obs">{text.fromObs}</h2>
          <ProgramAddresses streamName={streamName} token={token.data} />
          <p class="pulse-wait" role="status">
            <State kind="busy">{text.waiting}</State>
          </p>
          <p class="note">{text.waitingHint}</p>
        </section>
      </div>
      <div class="actions">
        <Button look="quiet" onClick={() => keep({ ...at, step: 2 })}>
          {text.back}
        </Button>
        <Button look="quiet" onClick={() => keep({ ...at, step: 4 })}>
          {text.skipStep}
        </Button>
        <LinkButton look="quiet" href={linkTo('/')}>
          {text.skip}
        </LinkButton>
      </div>
    </Solo>
  )
}

function FromBrowser({ streamName, token }: { readonly streamName: string; readonly token: string | undefined }) {
  const [isBusy, setBusy] = useState(false)
  const source = useSource({ quality: FIRST_QUALITY, label: streamName })
  // It asks for no permission, so the page shows at once what "Go live" would send.
  useEffect(() => {
    if (!preview.value.source) void source.choose('test')
    return showSource()
  }, [])
  const start = async (): Promise<void> => {
    setBusy(true)
    if (!preview.value.source) await source.choose('test')
    if (token !== undefined) await goLive({ streamName, token, quality: FIRST_QUALITY })
    setBusy(false)
  }
  const { state } = air.value
  return (
    <section class="card" aria-labelledby="from-browser">
      <Screen isFlat>
        <div class="tl">
          <AirBadge />
        </div>
      </Screen>
      <div class="pad stack gap-s">
        <h2 id="from-browser">{text.fromBrowser}</h2>
        <SourceChoice chosen={preview.value.kind} onChoose={(kind) => void source.choose(kind)} />
        <SourceNotice problem={preview.value.problem} />
        <Refusal />
        <Button
          look="on-air"
          size="big"
          isWide
          icon="goLive"
          isBusy={isBusy || state === 'connecting'}
          disabled={token === undefined}
          onClick={() => void start()}
        >
          {words.goLive.start}
        </Button>
      </div>
    </section>
  )
}
