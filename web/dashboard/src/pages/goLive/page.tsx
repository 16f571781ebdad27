import { useEffect, useState } from 'preact/hooks'
import { readPublishToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { ownAddresses, watchAddress } from '../../addresses.ts'
import {
  air,
  choose,
  end,
  goLive,
  isMuted,
  isVideoOff,
  preview,
  setMuted,
  setVideoOff,
  showSource,
} from '../../broadcast/broadcast.ts'
import { ProgramAddresses } from '../../broadcast/programAddresses.tsx'
import { LastMinute, SendingFigures } from '../../broadcast/figures.tsx'
import { Refusal } from '../../broadcast/problems.tsx'
import { bitrateOf, FIRST_QUALITY, qualityFor } from '../../broadcast/quality.ts'
import { AirBadge, Screen } from '../../broadcast/screen.tsx'
import type { SourceKind } from '../../broadcast/sources.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Segment, useSubmit } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Bones, Empty, LoadError, Notice } from '../../parts/notice.tsx'
import { Card, Page } from '../../parts/page.tsx'
import { linkTo, type PageArgs, setQuery } from '../../router.ts'
import { session } from '../../session.ts'
import { useStreamNow } from '../../streamNow.ts'
import { words } from '../../words/words.ts'
import { type Choices, MediaFields } from './form.tsx'
import { nameOf } from '../tokens/choice.tsx'
import type { TokenRecord } from '../tokens/operations.ts'
import { firstNameOf, type Start, type StartQuery, startOf, TokenFields } from './token.tsx'
import './goLive.css'

const text = words.goLive

/** Broadcasts from this page, or says what to enter in OBS or another program. */
export function GoLivePage({ query }: PageArgs) {
  const from = query.get('from') === 'program' ? 'program' : 'browser'
  const asked = askedIn(query)
  const { value } = session
  const accountId = value.kind === 'signedIn' ? value.session.account.id : ''
  const load = useLoad((signal) => startOf(asked, accountId, signal), [asked.tokenId, asked.streamName])
  const start = load.data
  return (
    <Page title={text.title} sub={from === 'browser' ? text.sub : text.subProgram} actions={<From value={from} />}>
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!start && !load.error && <Bones rows={5} />}
      {start?.kind === 'none' && <NoToken />}
      {start?.kind === 'notCovered' && <NoTokenFor streamName={asked.streamName} />}
      {start?.kind === 'token' && <WithToken key={`${start.token.id} ${start.streamName}`} start={start} from={from} />}
    </Page>
  )
}

const From = ({ value }: { readonly value: 'browser' | 'program' }) => (
  <Segment
    label={text.from}
    choices={[
      ['browser', text.browser],
      ['program', text.programChoice],
    ]}
    value={value}
    onChange={(chosen) => setQuery({ from: chosen === 'program' ? chosen : undefined })}
  />
)

const NoToken = () => (
  <section class="card">
    <Empty
      title={text.noToken}
      action={
        <LinkButton look="primary" icon="plus" href={linkTo('/tokens/publish/new')}>
          {text.makeToken}
        </LinkButton>
      }
    >
      {text.noTokenText}
    </Empty>
  </section>
)

const NoTokenFor = ({ streamName }: { readonly streamName: string }) => (
  <section class="card">
    <Empty
      title={text.noTokenFor(streamName)}
      action={
        <LinkButton look="primary" icon="plus" href={linkTo('/tokens/publish/new', { stream: streamName })}>
          {text.makeToken}
        </LinkButton>
      }
    >
      {text.noTokenForText} <a href={linkTo('/live')}>{text.otherStream}</a>
    </Empty>
  </section>
)

const askedIn = (query: URLSearchParams): StartQuery => ({
  tokenId: query.get('token'),
  streamName: query.get('stream') ?? '',
})

interface WithTokenProps {
  readonly start: Extract<Start, { kind: 'token' }>
  readonly from: 'browser' | 'program'
}

function WithToken({ start, from }: WithTokenProps) {
  const [token, setToken] = useState(start.token)
  const [streamName, setStreamName] = useState(start.streamName)
  const take = (chosen: TokenRecord): void => {
    if (chosen.id !== token.id) setStreamName(firstNameOf(chosen))
    setToken(chosen)
  }
  const fields = { token, streamName, onToken: take, onStreamName: setStreamName }
  return from === 'browser' ? <FromBrowser {...fields} /> : <FromProgram {...fields} />
}

type Fields = Parameters<typeof TokenFields>[0]

function FromProgram(fields: Fields) {
  const { token, streamName } = fields
  const { data, error, reload } = useLoad(
    (signal) => call(readPublishToken, { path: { tokenId: String(token.id) } }, { signal }),
    [token.id],
  )
  return (
    <div class="cols main-form">
      <Card title={text.program.title}>
        {error ? (
          <LoadError error={error} onRetry={reload} />
        ) : (
          // Lists may leave the value out. What was loaded before may be of another token.
          <ProgramAddresses streamName={streamName} token={data?.id === token.id ? data : undefined} />
        )}
      </Card>
      <form class="stack" aria-label={text.form} onSubmit={(event) => event.preventDefault()}>
        <section class="card">
          <div class="pad form">
            <TokenFields {...fields} />
          </div>
        </section>
      </form>
    </div>
  )
}

const FIRST_CHOICES: Choices = { quality: FIRST_QUALITY, cameraId: '', microphoneId: '' }

function FromBrowser(fields: Fields) {
  const { token } = fields
  const { state } = air.value
  const isOff = state === 'off'
  const streamName = isOff ? fields.streamName : air.value.streamName
  const [choices, setChoices] = useState(FIRST_CHOICES)
  const now = useStreamNow(streamName)
  const open = (kind: SourceKind, { quality, cameraId, microphoneId }: Choices): void =>
    void choose(kind, { quality, cameraId, microphoneId, label: () => streamName })
  // The test pattern asks nothing of the user, so it is there at once.
  useEffect(() => {
    if (preview.value.kind === null) open('test', choices)
    return showSource()
  }, [])
  return (
    <div class="cols main-form">
      <div class="stack">
        <Screen>
          <div class="tl">
            <AirBadge />
          </div>
          {!isOff && <Viewers count={now.viewers} />}
        </Screen>
        {isOff ? <Ready streamName={streamName} token={token} choices={choices} /> : <Running viewers={now.viewers} />}
        <Refusal />
        {!isOff && <SendingFigures viewers={now.viewers} />}
        {!isOff && <LastMinute wanted={bitrateOf(choices.quality) ?? 0} />}
        <Share streamName={streamName} token={token} isOff={isOff} />
      </div>
      <form class={isOff ? 'stack' : 'stack stick'} aria-label={text.form} onSubmit={(event) => event.preventDefault()}>
        <section class="card">
          <div class="pad form">
            {isOff ? <TokenFields {...fields} /> : <Fixed streamName={streamName} token={token} />}
            <MediaFields choices={choices} onChoices={setChoices} onSource={open} isLive={!isOff} />
          </div>
        </section>
      </form>
    </div>
  )
}

const Viewers = ({ count }: { readonly count: number }) => (
  <div class="tr">
    <span class="chip">
      <Icon name="viewers" isSmall />
      {count}
      <span class="sr"> {text.figures.viewers}</span>
    </span>
  </div>
)

function Fixed({ streamName, token }: { readonly streamName: string; readonly token: TokenRecord }) {
  return (
    <div class="field">
      <span class="label">{text.stream}</span>
      <b>{streamName}</b>
      <span class="hint">{text.fixed(nameOf('publish', token))}</span>
    </div>
  )
}

interface ReadyProps {
  readonly streamName: string
  readonly token: TokenRecord
  readonly choices: Choices
}

function Ready({ streamName, token, choices: { quality } }: ReadyProps) {
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    const { token: value, restream } = await call(readPublishToken, { path: { tokenId: String(token.id) } })
    await goLive({ streamName, token: value, quality: qualityFor(quality, restream) })
  })
  const isReady = preview.value.source !== null && bitrateOf(quality) !== null && streamName !== ''
  return (
    <>
      <div class="bar-under">
        <p class="note">{text.onlyYou}</p>
        <span class="end">
          <Button look="on-air" size="big" icon="goLive" isBusy={isBusy} disabled={!isReady} onClick={onSubmit}>
            {streamName === '' ? text.start : text.startAs(streamName)}
          </Button>
        </span>
      </div>
      {error && <Notice kind="error">{error.message}</Notice>}
    </>
  )
}

function Running({ viewers }: { readonly viewers: number }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <div class="bar-under">
      <Button icon="microphone" aria-pressed={isMuted.value} onClick={() => setMuted(!isMuted.value)}>
        {text.mute}
      </Button>
      <Button icon="camera" aria-pressed={isVideoOff.value} onClick={() => setVideoOff(!isVideoOff.value)}>
        {text.videoOff}
      </Button>
      <span class="end">
        <Button look="on-air" icon="stop" onClick={() => (viewers > 0 ? setAsking(true) : void end())}>
          {text.end}
        </Button>
      </span>
      {isAsking && (
        <Confirm title={text.endTitle} verb={text.end} onConfirm={end} onClose={() => setAsking(false)}>
          {text.endText(viewers)}
        </Confirm>
      )}
    </div>
  )
}

function Share({
  streamName,
  token,
  isOff,
}: {
  readonly streamName: string
  readonly token: TokenRecord
  readonly isOff: boolean
}) {
  const { value } = session
  if (value.kind !== 'signedIn' || streamName === '') return null
  const address = watchAddress(ownAddresses(), value.session.account.id, streamName)
  const isSecured = token.subscribeRequiresAuth
  if (isOff)
    return (
      <Notice>
        <b>{isSecured ? text.seenSecured : text.seenOpen}</b> {address}
      </Notice>
    )
  return (
    <Card title={text.share}>
      <CopyField label={text.page} what={text.page} value={address} />
      <p class="note">{isSecured ? text.shareSecured : text.shareOpen}</p>
      <div class="actions">
        <a class="btn" href={address} target="_blank" rel="noreferrer">
          <Icon name="external" isSmall />
          {text.open}
        </a>
        <LinkButton href={linkTo(`/streams/${encodeURIComponent(streamName)}`)}>{text.details}</LinkButton>
      </div>
    </Card>
  )
}
