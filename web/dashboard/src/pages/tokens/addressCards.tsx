import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { LinkButton } from '../../parts/button.tsx'
import { CodeBlock, CopyField } from '../../parts/copy.tsx'
import { Segment, SelectField, TextField, Toggle } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { rtmpKey, srtAddress } from '../../addresses.ts'
import { addressesOf, embedCode, ffmpegCommand, type StreamPlace } from './addresses.ts'
import type { TokenRecord } from './operations.ts'
import { useServer } from './server.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.addresses
/** The player and the watch page stand under one address; the stream page of the dashboard has the same player. */
const streamPage = (name: string): string => linkTo(`/streams/${encodeURIComponent(name)}`)

interface CardProps {
  readonly token: TokenRecord
  readonly place: StreamPlace
}

/** The addresses to copy, for a name that the token covers. */
export function AddressCards({ kind, token }: { readonly kind: TokenKind; readonly token: TokenRecord }) {
  const names = token.streams.filter(({ isRegex }) => !isRegex).map(({ streamName }) => streamName)
  const [chosen, setChosen] = useState('')
  const server = useServer()
  const streamName = names.includes(chosen) || names.length === 0 ? chosen : (names[0] ?? '')
  const place = { ...server, streamName }
  const chooser = <StreamChooser names={names} value={streamName} onValue={setChosen} />
  if (kind === 'subscribe') return <WatchWithCard token={token} place={place} chooser={chooser} />
  return (
    <>
      <BroadcastCard token={token} place={place} chooser={chooser} />
      <WatchCard token={token} place={place} />
    </>
  )
}

interface Chooser {
  readonly chooser: ComponentChildren
}

/** One name needs no choice; several are a list; a token with patterns alone takes any name. */
function StreamChooser(props: {
  readonly names: readonly string[]
  readonly value: string
  readonly onValue: (name: string) => void
}) {
  const { names, value, onValue } = props
  if (names.length === 1) return null
  if (names.length === 0)
    return (
      <TextField
        label={text.stream}
        hint={text.streamHint}
        autocomplete="off"
        maxLength={128}
        value={value}
        onValue={onValue}
      />
    )
  return (
    <SelectField
      label={text.stream}
      value={value}
      choices={names.map((name) => [name, name] as const)}
      onValue={onValue}
    />
  )
}

type Way = 'whip' | 'rtmp' | 'srt' | 'code'

function BroadcastCard({ token, place, chooser }: CardProps & Chooser) {
  const [way, setWay] = useState<Way>('whip')
  const offered = (['whip', 'rtmp', 'srt', 'code'] as const).filter((one) => one !== 'srt' || place.srt !== null)
  const ways = offered.map((one) => [one, text.ways[one]] as const)
  return (
    <Card title={text.broadcast} aside={<Segment label={text.how} choices={ways} value={way} onChange={setWay} />}>
      <div class="addresses">
        {chooser}
        {place.streamName !== '' && way === 'whip' && <OverWhip token={token} place={place} />}
        {place.streamName !== '' && way === 'rtmp' && <OverRtmp token={token} place={place} />}
        {place.streamName !== '' && way === 'srt' && <OverSrt token={token} place={place} />}
        {place.streamName !== '' && way === 'code' && <ByCode token={token} place={place} />}
      </div>
    </Card>
  )
}

const Output = () => <Pairs rows={[[text.output, text.outputValue]]} />

function OverWhip({ token, place }: CardProps) {
  return (
    <>
      <p class="note">{text.whipNote}</p>
      <CopyField label={text.server} what={text.server} value={addressesOf(place).whip} />
      {token.token && <CopyField isSecret label={text.bearer} what={text.bearer} value={token.token} />}
      <Output />
    </>
  )
}

/** RTMP is refused while a token limits or binds addresses, unless the server is told to check them. */
const limitsAddresses = ({ allowedIpAddresses, bindIpsOnUsage = 0 }: TokenRecord): boolean =>
  allowedIpAddresses.length > 0 || bindIpsOnUsage > 0

function OverRtmp({ token, place }: CardProps) {
  return (
    <>
      {limitsAddresses(token) && <Notice kind="warn">{text.rtmpOff}</Notice>}
      {token.allowedOrigins.length > 0 && <Notice kind="warn">{text.rtmpNoSite}</Notice>}
      <p class="note">{text.rtmpNote}</p>
      <CopyField label={text.server} what={text.server} value={addressesOf(place).rtmpServer} />
      {token.token && (
        <CopyField isSecret label={text.key} what={text.key} value={rtmpKey(place.streamName, token.token)} />
      )}
      <Output />
    </>
  )
}

function OverSrt({ token, place }: CardProps) {
  const address = srtAddress(place, place.streamName, token)
  const { srtPassphrase } = token
  return (
    <>
      {token.allowedOrigins.length > 0 && <Notice kind="warn">{text.srtNoSite}</Notice>}
      <p class="note">{text.srtNote}</p>
      {address !== null && <CopyField isSecret label={text.server} what={text.server} value={address} />}
      {srtPassphrase === undefined ? (
        <p class="note">{text.srtInTheClear}</p>
      ) : (
        <CopyField isSecret label={text.passphrase} what={text.passphrase} value={srtPassphrase} />
      )}
      <Output />
    </>
  )
}

function ByCode({ token, place }: CardProps) {
  const [isShown, setShown] = useState(false)
  return (
    <>
      <CodeBlock what={text.ffmpeg} code={ffmpegCommand(place, isShown && token.token ? token.token : '$TOKEN')} />
      {token.token && <Toggle label={text.showValue} isOn={isShown} onChange={setShown} />}
    </>
  )
}

function WatchCard({ token, place }: CardProps) {
  const { streamName } = place
  if (streamName === '') return null
  return (
    <Card
      title={text.watch}
      aside={
        <LinkButton size="small" icon="play" href={streamPage(streamName)}>
          {text.openPlayer}
        </LinkButton>
      }
    >
      <div class="addresses">
        <PlayerAddresses place={place} />
        <CodeBlock what={text.embed} code={embedCode(place)} />
        {token.subscribeRequiresAuth && (
          <Notice>
            <b>{text.needsToken}</b> {text.needsTokenText}{' '}
            {canChange() && (
              <a href={linkTo('/tokens/subscribe/new', { stream: streamName })}>{text.makeOne(streamName)}</a>
            )}
          </Notice>
        )}
      </div>
    </Card>
  )
}

function PlayerAddresses({ place }: { readonly place: StreamPlace }) {
  const { whep, hls } = addressesOf(place)
  return (
    <>
      <CopyField
        what={text.whep}
        value={whep}
        label={
          <>
            {text.whep} <span class="tag">{text.whepTag}</span>
          </>
        }
      />
      <CopyField
        what={text.hls}
        value={hls}
        label={
          <>
            {text.hls} <span class="tag">{text.hlsTag}</span>
          </>
        }
      />
    </>
  )
}

/** A subscribe token: its value, and where viewers present it. */
function WatchWithCard({ token, place, chooser }: CardProps & Chooser) {
  const [isShown, setShown] = useState(false)
  const { streamName } = place
  const shown = isShown && token.token ? token.token : '$TOKEN'
  return (
    <Card title={text.watchWith}>
      <div class="addresses">
        {token.token && <CopyField isSecret label={text.value} what={text.value} value={token.token} />}
        <p class="note">{text.valueNote}</p>
        {chooser}
        {streamName !== '' && (
          <>
            <PlayerAddresses place={place} />
            <CodeBlock what={text.embed} code={embedCode(place, shown)} />
            {token.token && <Toggle label={text.showValue} isOn={isShown} onChange={setShown} />}
          </>
        )}
      </div>
    </Card>
  )
}
