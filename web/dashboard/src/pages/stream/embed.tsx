import { useState } from 'preact/hooks'
import { listUsablePublishTokenIds, readPublishToken } from '#api/tokens.ts'
import { areAddressesFinal, ownAddresses, watchAddress } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { StreamOnAir } from '../../live.ts'
import { CodeBlock, CopyField } from '../../parts/copy.tsx'
import { Segment } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import { addressesOf, embedCode, frameCode } from '../tokens/addresses.ts'
import { ViewerToken } from './viewerToken.tsx'

const text = words.stream

interface EmbedProps {
  readonly accountId: string
  readonly streamName: string
  /** Undefined: it is not on the air. */
  readonly stream: StreamOnAir | undefined
}

/** Addresses to watch it, and code that shows it on a page; for a secured stream with a token. */
export function Embed({ accountId, streamName, stream }: EmbedProps) {
  const secured = useLoad(
    (signal) => (stream ? Promise.resolve(stream.secured) : wouldBeSecured(accountId, streamName, signal)),
    [accountId, streamName, stream?.secured],
  )
  const [token, setToken] = useState('')
  return (
    <Card title={text.embed}>
      {secured.error && <LoadError error={secured.error} onRetry={secured.reload} />}
      {secured.data && (
        <>
          <Notice kind="warn">
            <b>{text.secured}</b> {text.securedText}
          </Notice>
          <ViewerToken streamName={streamName} onValue={setToken} />
        </>
      )}
      {areAddressesFinal() ? (
        <Addresses accountId={accountId} streamName={streamName} token={secured.data ? token : ''} />
      ) : (
        <Bones />
      )}
    </Card>
  )
}

/** As many as decide. All that cover one stream are few. */
const DECIDING_MAX = 10

/** Whether a broadcast that begins now would be secured: each token that could publish it decides so. */
async function wouldBeSecured(accountId: string, streamName: string, signal: AbortSignal): Promise<boolean> {
  const query = { streamId: `${accountId}/${streamName}` }
  const { tokenIds } = await call(listUsablePublishTokenIds, { query }, { signal })
  const tokens = await Promise.all(
    tokenIds.slice(-DECIDING_MAX).map((id) => call(readPublishToken, { path: { tokenId: String(id) } }, { signal })),
  )
  return tokens.some(({ subscribeRequiresAuth }) => subscribeRequiresAuth)
}

interface AddressesProps {
  readonly accountId: string
  readonly streamName: string
  readonly token: string
}

function Addresses({ accountId, streamName, token }: AddressesProps) {
  const [kind, setKind] = useState<'page' | 'whep' | 'hls'>('page')
  const place = { ...ownAddresses(), accountId, streamName }
  const { whep, hls } = addressesOf(place)
  // Browsers do not send the fragment, so the token of a link is in no log.
  const page = watchAddress(place, accountId, streamName) + (token === '' ? '' : `#token=${encodeURIComponent(token)}`)
  return (
    <>
      <Segment
        label={text.embedKind}
        choices={[
          ['page', text.page],
          ['whep', 'WHEP'],
          ['hls', 'HLS'],
        ]}
        value={kind}
        isWide
        onChange={setKind}
      />
      {kind === 'page' && (
        <>
          <CopyField label={text.page} what={text.page} value={page} />
          <Code title={text.embedFrame} code={frameCode(place, token)} />
          <Code title={text.embedPlayer} code={embedCode(place, token)} />
        </>
      )}
      {kind === 'whep' && <CopyField label="WHEP" what="WHEP" value={whep} />}
      {kind === 'hls' && <CopyField label="HLS" what="HLS" value={hls} />}
      {kind !== 'page' && token !== '' && (
        <CopyField isSecret key={token} label={text.token} what={text.token} value={token} />
      )}
    </>
  )
}

const Code = ({ title, code }: { readonly title: string; readonly code: string }) => (
  <div class="field">
    <span class="label">{title}</span>
    <CodeBlock what={title} code={code} />
  </div>
)
