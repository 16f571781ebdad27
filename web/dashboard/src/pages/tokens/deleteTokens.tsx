import { listSessions } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'
import { deleteToken, type TokenRecord } from './operations.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.deletion
/** As many sessions as one page of the list has. */
const MOST = 100
/** Sessions are counted token by token, so only for a few. */
const COUNTED_TOKENS = 10

async function sessionsOf(tokens: readonly TokenRecord[], signal: AbortSignal): Promise<number | null> {
  if (tokens.length > COUNTED_TOKENS) return null
  const lists = await Promise.all(
    tokens.map(({ id }) => call(listSessions, { query: { tokenId: id, limit: MOST } }, { signal })),
  )
  return lists.reduce((sum, { length }) => sum + length, 0)
}

/** Asks before tokens are deleted, and says what that takes along. */
export function DeleteTokens(props: {
  readonly kind: TokenKind
  readonly tokens: readonly TokenRecord[]
  readonly onDone: () => void | Promise<void>
  readonly onClose: () => void
}) {
  const { kind, tokens, onDone, onClose } = props
  const count = useLoad((signal) => sessionsOf(tokens, signal), [])
  const [first] = tokens
  const isOne = tokens.length === 1
  const onConfirm = async (): Promise<void> => {
    for (const { id } of tokens) await deleteToken(kind, id)
    toast(isOne ? text.doneOne(first?.label ?? '') : text.done(tokens.length))
    await onDone()
  }
  return (
    <Confirm
      title={isOne ? text.titleOne(first?.label ?? '') : text.title(tokens.length)}
      verb={text.verb}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {count.data === undefined || count.data === null
        ? text.someSessions(isOne)
        : text.sessions(count.data, count.data >= MOST, isOne)}{' '}
      {text[kind](isOne)} {text.final(isOne)}
    </Confirm>
  )
}
