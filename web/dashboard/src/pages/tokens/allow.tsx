import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'
import { checkAddress } from './checks.ts'
import { type TokenRecord, updateToken } from './operations.ts'
import type { StoredToken, TokenKind } from './tokenForm.ts'

const text = words.tokens.refusals

/** What a refusal says of the client that was refused. */
export interface Refused {
  readonly code?: string | undefined
  readonly origin?: string | undefined
  readonly address: string
}

/** One entry that would have admitted the client, and the list that it belongs to. */
export interface MissingEntry {
  readonly field: 'allowedOrigins' | 'allowedIpAddresses'
  readonly entry: string
}

/** The entry that a token lacks for a refused client; null: no single entry of a list would do. */
function missingEntry(token: StoredToken, { code, origin, address }: Refused): MissingEntry | null {
  if (code === 'origin_not_allowed' && origin && URL.canParse(origin)) {
    const { host } = new URL(origin)
    return host === '' || token.allowedOrigins.includes(host) ? null : { field: 'allowedOrigins', entry: host }
  }
  // Without a list of addresses the token is bound to others; a list would not help.
  if (code === 'address_not_allowed' && token.allowedIpAddresses.length > 0 && checkAddress(address) === null)
    return token.allowedIpAddresses.includes(address) ? null : { field: 'allowedIpAddresses', entry: address }
  return null
}

interface AllowProps {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly decision: Refused
  /** With the entry on the button, where the place allows. */
  readonly isNamed?: boolean
  readonly onChanged: () => void
}

/** Adds the missing entry to the token, with a way to take it back. */
export function AllowButton({ kind, token, decision, isNamed = false, onChanged }: AllowProps) {
  const [isBusy, setBusy] = useState(false)
  const missing = missingEntry(token, decision)
  if (missing === null) return null
  const { field, entry } = missing
  const write = async (list: readonly string[]): Promise<void> => {
    await updateToken(kind, token.id, { [field]: list }).catch(show)
    onChanged()
  }
  const allow = async (): Promise<void> => {
    setBusy(true)
    await write([...token[field], entry])
    setBusy(false)
    toast(text.allowed(entry), () => void write(token[field]))
  }
  return (
    <Button
      size={isNamed ? undefined : 'small'}
      icon={isNamed ? 'plus' : undefined}
      isBusy={isBusy}
      aria-label={text.allowThat(entry)}
      onClick={() => void allow()}
    >
      {isNamed ? text.allowThat(entry) : text.allow}
    </Button>
  )
}

function show(error: unknown): void {
  toast(error instanceof Error ? error.message : String(error))
}
