import { asApiError } from '../../api/call.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { toast } from '../../parts/toast.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { type TokenRecord, updateToken } from './operations.ts'
import { type Refused, repairOf } from './repairs.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.refusals

interface RepairProps {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly decision: Refused
  /** With what it does on the button, where the place allows. */
  readonly isNamed?: boolean
  readonly onChanged: () => Promise<void>
}

/** Changes the token so that the refused client is admitted, with a way to take it back. */
export function RepairButton({ kind, token, decision, isNamed = false, onChanged }: RepairProps) {
  const repair = repairOf(token, decision)
  if (repair === null) return <AfterExpiry kind={kind} token={token} decision={decision} isNamed={isNamed} />
  const said = text.repairs[repair.kind]
  const write = async (change: Readonly<Record<string, unknown>>): Promise<boolean> => {
    const isDone = await updateToken(kind, token.id, change).then(() => true, show)
    await onChanged()
    return isDone
  }
  const apply = async (): Promise<void> => {
    if (await write(repair.change)) toast(said.done(repair.what), () => void write(repair.undo))
  }
  return (
    <Button
      size={isNamed ? undefined : 'small'}
      icon={isNamed ? 'plus' : undefined}
      aria-label={said.button(repair.what)}
      onClick={apply}
    >
      {isNamed ? said.button(repair.what) : said.short}
    </Button>
  )
}

/** Nothing makes an expired token valid again: a new one takes its place, or a newly signed one that of a signed one. */
function AfterExpiry({ kind, token, decision, isNamed }: Omit<Required<RepairProps>, 'onChanged'>) {
  if (decision.code !== 'token_expired') return null
  const hasExpired = token.expiresOn !== undefined && Date.parse(token.expiresOn) <= Date.now()
  if (hasExpired)
    return (
      <LinkButton size={isNamed ? undefined : 'small'} href={linkTo(`/tokens/${kind}/new`)}>
        {words.tokens.kinds[kind].create}
      </LinkButton>
    )
  // The page of the token signs; where this is not named, it is that page.
  return isNamed ? <LinkButton href={linkTo(`/tokens/${kind}/${token.id}`)}>{text.signNew}</LinkButton> : null
}

function show(error: unknown): false {
  toast(asApiError(error).message)
  return false
}
