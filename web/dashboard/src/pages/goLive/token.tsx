import {
  type Answer,
  listPublishTokens,
  listUsablePublishTokenIds,
  readPublishToken,
  updatePublishToken,
} from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Field, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { allowsOrigin } from './origins.ts'

const text = words.goLive

export type PublishToken = Answer<typeof listPublishTokens>[number]

/** As many as a list of choices can hold. The newest come first. */
const TOKENS_MAX = 100

/** What the page's address asks for: the id of a token, or the name of a stream. */
export interface Asked {
  readonly tokenId: string | null
  readonly streamName: string
}

/** The tokens that admit a broadcast now: those that were asked for, then the newest. */
export async function usableTokens(
  { tokenId, streamName }: Asked,
  accountId: string,
  signal: AbortSignal,
): Promise<{ readonly tokens: readonly PublishToken[]; readonly covering: number | undefined }> {
  const newest = await newestTokens(signal)
  const named = newest.find((one) => namesOf(one).includes(streamName))
  const covering =
    streamName === '' ? undefined : (named?.id ?? (await coveringId(`${accountId}/${streamName}`, signal)))
  const asked = tokenId === null ? covering : Number(tokenId)
  if (asked === undefined || newest.some(({ id }) => id === asked)) return { tokens: newest, covering }
  const token = await call(readPublishToken, { path: { tokenId: String(asked) } }, { signal })
  return { tokens: [token, ...newest], covering }
}

/** A token that could publish the stream, whatever its patterns are and however old it is. */
async function coveringId(streamId: string, signal: AbortSignal): Promise<number | undefined> {
  const { tokenIds } = await call(listUsablePublishTokenIds, { query: { streamId } }, { signal })
  return tokenIds.at(-1)
}

async function newestTokens(signal: AbortSignal): Promise<readonly PublishToken[]> {
  const query = { sortBy: 'AddedOn', isDescending: true, itemsOnPage: TOKENS_MAX } as const
  const all = await call(listPublishTokens, { query }, { signal })
  return all.filter(({ isActive, expiresOn }) => isActive && (!expiresOn || Date.parse(expiresOn) > Date.now()))
}

/** The names that a token admits, without its patterns. */
export const namesOf = ({ streams }: PublishToken): string[] =>
  streams.filter(({ isRegex }) => !isRegex).map(({ streamName }) => streamName)

const patternOf = ({ streams }: PublishToken): string | undefined => streams.find(({ isRegex }) => isRegex)?.streamName

/** The name that a token is offered with; '': it has only patterns. */
export const firstNameOf = (token: PublishToken): string => namesOf(token)[0] ?? ''

interface TokenFieldsProps {
  readonly tokens: readonly PublishToken[]
  readonly token: PublishToken
  readonly streamName: string
  readonly onToken: (token: PublishToken) => void
  readonly onStreamName: (name: string) => void
}

/** Which token, and which of its streams. */
export function TokenFields({ tokens, token, streamName, onToken, onStreamName }: TokenFieldsProps) {
  return (
    <>
      <Field label={text.token} hint={text.usableHint(tokens.length)}>
        {(attributes) => (
          <select
            class="select"
            {...attributes}
            value={String(token.id)}
            onChange={({ currentTarget: { value } }) => {
              const chosen = tokens.find(({ id }) => String(id) === value)
              if (chosen) onToken(chosen)
            }}
          >
            {tokens.map(({ id, label, name }) => (
              <option key={id} value={String(id)}>
                {label || name}
              </option>
            ))}
          </select>
        )}
      </Field>
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
    <Field label={text.stream}>
      {(attributes) => (
        <select
          class="select"
          {...attributes}
          value={streamName}
          onChange={({ currentTarget: { value } }) => onStreamName(value)}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
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
