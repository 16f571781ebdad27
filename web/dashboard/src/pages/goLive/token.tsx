import { listUsablePublishTokenIds, readPublishToken, updatePublishToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { SelectField, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { findUsable, TokenChoice } from '../tokens/choice.tsx'
import type { TokenRecord } from '../tokens/operations.ts'
import { allowsOrigin } from '../tokens/origins.ts'

const text = words.goLive

/** What the page's address asks for: the id of a token, or the name of a stream. */
export interface StartQuery {
  readonly tokenId: string | null
  readonly streamName: string
}

/** What a broadcast begins with. Another stream than the one that was asked for must not go live in its place. */
export type Start =
  | { readonly kind: 'token'; readonly token: TokenRecord; readonly streamName: string }
  /** No token covers the stream. */
  | { readonly kind: 'notCovered' }
  /** There is no token at all. */
  | { readonly kind: 'none' }

/** The token that was asked for, one that covers the stream, or the newest that may be used now. */
export async function startOf(
  { tokenId, streamName }: StartQuery,
  accountId: string,
  signal: AbortSignal,
): Promise<Start> {
  if (tokenId !== null) return startWith(await read(tokenId, signal), streamName)
  if (streamName !== '') {
    const token = await covering(accountId, streamName, signal)
    return token ? { kind: 'token', token, streamName } : { kind: 'notCovered' }
  }
  const [newest] = (await findUsable('publish', '', signal)).tokens
  return newest ? startWith(newest, '') : { kind: 'none' }
}

const read = (tokenId: string, signal: AbortSignal): Promise<TokenRecord> =>
  call(readPublishToken, { path: { tokenId } }, { signal })

const startWith = (token: TokenRecord, streamName: string): Start => ({
  kind: 'token',
  token,
  streamName: streamName === '' ? firstNameOf(token) : streamName,
})

/** A token that names the stream, or else one with a pattern, however old it is. */
async function covering(accountId: string, streamName: string, signal: AbortSignal): Promise<TokenRecord | undefined> {
  const [{ tokens }, { tokenIds }] = await Promise.all([
    findUsable('publish', streamName, signal),
    call(listUsablePublishTokenIds, { query: { streamId: `${accountId}/${streamName}` } }, { signal }),
  ])
  const newest = tokenIds.at(-1)
  const named = tokens.find((one) => namesOf(one).includes(streamName))
  return named ?? (newest === undefined ? undefined : read(String(newest), signal))
}

/** The names that a token admits, without its patterns. */
const namesOf = ({ streams }: TokenRecord): string[] =>
  streams.filter(({ isRegex }) => !isRegex).map(({ streamName }) => streamName)

const patternOf = ({ streams }: TokenRecord): string | undefined => streams.find(({ isRegex }) => isRegex)?.streamName

/** The name that a token is offered with; '': it has only patterns. */
export const firstNameOf = (token: TokenRecord): string => namesOf(token)[0] ?? ''

interface TokenFieldsProps {
  readonly token: TokenRecord
  readonly streamName: string
  readonly onToken: (token: TokenRecord) => void
  readonly onStreamName: (name: string) => void
}

/** Which token, and which of its streams. */
export function TokenFields({ token, streamName, onToken, onStreamName }: TokenFieldsProps) {
  return (
    <>
      <TokenChoice kind="publish" label={text.token} chosen={token} onToken={onToken} />
      <StreamField token={token} streamName={streamName} onStreamName={onStreamName} />
      <OriginNotice token={token} onToken={onToken} />
    </>
  )
}

function StreamField({
  token,
  streamName,
  onStreamName,
}: Pick<TokenFieldsProps, 'token' | 'streamName' | 'onStreamName'>) {
  const [names, pattern] = [namesOf(token), patternOf(token)]
  if (pattern !== undefined)
    return <TextField label={text.stream} hint={text.patternHint(pattern)} value={streamName} onValue={onStreamName} />
  return (
    <SelectField
      label={text.stream}
      value={streamName}
      choices={names.map((name) => [name, name] as const)}
      onValue={onStreamName}
    />
  )
}

/** Says that the token's origins leave out this page, and offers to add it. */
function OriginNotice({ token, onToken }: Pick<TokenFieldsProps, 'token' | 'onToken'>) {
  const { origin } = location
  const add = useSubmit(async () => {
    const body = { updateAllowedOrigins: [...token.allowedOrigins, origin] }
    onToken(await call(updatePublishToken, { path: { tokenId: String(token.id) }, body }))
    toast(text.originAdded(origin))
  })
  if (allowsOrigin(token.allowedOrigins, origin)) return null
  return (
    <Notice kind="warn">
      {text.originRefused(origin)}{' '}
      {canChange() && (
        <Button size="small" isBusy={add.isBusy} onClick={add.onSubmit}>
          {text.originAdd(origin)}
        </Button>
      )}
      {add.error?.message}
    </Notice>
  )
}
