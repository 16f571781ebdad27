import { asApiError } from '../../api/call.ts'
import { toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'
import { setActive, type TokenRecord } from './operations.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens

/** Switches tokens and offers to take it back. `onChanged` reads what holds now, also after a failure. */
export async function switchTokens(
  kind: TokenKind,
  tokens: readonly TokenRecord[],
  isActive: boolean,
  onChanged: () => Promise<void>,
): Promise<void> {
  const ids = tokens.map(({ id }) => id)
  const failure = await attempt(kind, ids, isActive)
  const [first] = tokens
  const shown = tokens.length === 1 ? (first?.label ?? '') : text.selectedTokens(tokens.length)
  const undo = (): void => {
    void attempt(kind, ids, !isActive).then((problem) => {
      if (problem !== null) toast(problem)
      return onChanged()
    })
  }
  if (failure === null) toast(isActive ? text.isOn(shown) : text.isOff(shown), undo)
  else toast(failure)
  await onChanged()
}

/** What went wrong, or null. */
async function attempt(kind: TokenKind, ids: readonly number[], isActive: boolean): Promise<string | null> {
  try {
    return await setActive(kind, ids, isActive)
  } catch (error) {
    return asApiError(error).message
  }
}
