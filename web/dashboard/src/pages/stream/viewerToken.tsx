import { useEffect, useState } from 'preact/hooks'
import { type Answer, signSubscribeToken } from '#api/tokens.ts'
import { ownAddresses } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { Segment, SelectField, useSubmit } from '../../parts/form.tsx'
import { LoadError, Notice } from '../../parts/notice.tsx'
import { Time } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { EACH_SPAN, type Span, SPANS } from '../../spans.ts'
import { words } from '../../words/words.ts'
import { TokenChoice } from '../tokens/choice.tsx'
import { readToken, type TokenRecord } from '../tokens/operations.ts'
import { allowsOrigin } from '../tokens/origins.ts'

const text = words.stream

interface ViewerTokenProps {
  readonly streamName: string
  /** '': none is chosen. */
  readonly onValue: (token: string) => void
}

/** Chooses a subscribe token for the embed code, or signs a short one with it. Viewers of the dashboard see no values. */
export function ViewerToken({ streamName, onValue }: ViewerTokenProps) {
  const [chosen, setChosen] = useState<TokenRecord | null>(null)
  if (!canChange()) return null
  // At once and not by an effect, so that the code never has the value of one token beside what is said of another.
  const choose = (token: TokenRecord): void => {
    onValue('')
    setChosen(token)
  }
  return (
    <>
      <TokenChoice kind="subscribe" label={text.viewerToken} chosen={chosen} onToken={choose} />
      <a href={linkTo('/tokens/subscribe/new', { stream: streamName })}>{words.tokens.addresses.makeOne(streamName)}</a>
      {chosen && <Chosen key={chosen.id} token={chosen} streamName={streamName} onValue={onValue} />}
    </>
  )
}

/** Whether a token names a stream. `perhaps`: only the server knows what its patterns match. */
function covers({ streams }: TokenRecord, streamName: string): 'yes' | 'perhaps' | 'no' {
  if (streams.some((one) => !one.isRegex && one.streamName === streamName)) return 'yes'
  return streams.some(({ isRegex }) => isRegex) ? 'perhaps' : 'no'
}

interface ChosenProps extends ViewerTokenProps {
  readonly token: TokenRecord
}

function Chosen({ token, streamName, onValue }: ChosenProps) {
  const [how, setHow] = useState<'asItIs' | 'signed'>('asItIs')
  const covered = covers(token, streamName)
  if (covered === 'no') return <Notice kind="error">{text.otherStreams}</Notice>
  const use = (other: typeof how): void => {
    onValue('')
    setHow(other)
  }
  return (
    <>
      <Segment
        label={text.useHow}
        choices={[
          ['asItIs', text.asItIs],
          ['signed', text.signed],
        ]}
        value={how}
        isWide
        onChange={use}
      />
      {how === 'asItIs' && <AsItIs token={token} onValue={onValue} />}
      {how === 'signed' && <Signed token={token} streamName={streamName} onValue={onValue} />}
      {covered === 'perhaps' && how === 'asItIs' && <p class="note">{text.patternMustMatch}</p>}
      <Limits token={token} />
      <p class="note">{text.allCanRead}</p>
    </>
  )
}

/** Lists leave the value out. */
function AsItIs({ token, onValue }: Omit<ChosenProps, 'streamName'>) {
  const read = useLoad((signal) => readToken('subscribe', token.id, signal), [token.id])
  const value = read.data?.token ?? ''
  useEffect(() => {
    onValue(value)
    return () => onValue('')
  }, [value])
  return read.error && <LoadError error={read.error} onRetry={read.reload} />
}

function Signed({ token, streamName, onValue }: ChosenProps) {
  const [span, setSpan] = useState<Span>('day')
  const [signed, setSigned] = useState<Answer<typeof signSubscribeToken> | null>(null)
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    const body = { streamName, expiresInSeconds: SPANS[span] }
    setSigned(await call(signSubscribeToken, { path: { tokenId: String(token.id) }, body }))
  })
  useEffect(() => {
    onValue(signed?.token ?? '')
    return () => onValue('')
  }, [signed])
  return (
    <form class="form gap-s" onSubmit={onSubmit}>
      <SelectField
        label={text.valid}
        value={span}
        choices={EACH_SPAN.map((one) => [one, text.validFor[one]] as const)}
        onValue={setSpan}
      />
      {error && <Notice kind="error">{error.message}</Notice>}
      {signed && (
        <p class="note" role="status">
          {text.signedUntil} <Time at={signed.expiresOn} isWhole />
        </p>
      )}
      <div class="actions">
        <Button type="submit" isBusy={isBusy}>
          {text.sign}
        </Button>
      </div>
    </form>
  )
}

/** What keeps viewers out although the code has a token. */
function Limits({ token: { allowedOrigins, bindIpsOnUsage = 0 } }: { readonly token: TokenRecord }) {
  const { host, origin } = new URL(ownAddresses().http)
  return (
    <>
      {allowedOrigins.length > 0 && (
        <Notice kind="warn">
          {text.onlySites(allowedOrigins.join(', '))} {!allowsOrigin(allowedOrigins, origin) && text.frameNeeds(host)}
        </Notice>
      )}
      {bindIpsOnUsage > 0 && <Notice kind="warn">{text.bindsViewers(bindIpsOnUsage)}</Notice>}
    </>
  )
}
