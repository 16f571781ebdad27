import { useState } from 'preact/hooks'
import { useLoad } from '../../api/load.ts'
import { Field } from '../../parts/form.tsx'
import { LoadError } from '../../parts/notice.tsx'
import { SearchField } from '../../parts/search.tsx'
import { words } from '../../words/words.ts'
import { listTokens, type TokenRecord } from './operations.ts'
import type { TokenKind } from './tokenForm.ts'

const text = words.tokens.choice

/** As many as a list of choices shows. An account may have thousands: the server searches them. */
const SHOWN_MAX = 20

interface Found {
  readonly tokens: readonly TokenRecord[]
  /** Of all that match. */
  readonly total: number
}

/** The newest tokens that are usable now, found by a part of a label or of a stream's name. */
export async function findUsable(kind: TokenKind, search: string, signal: AbortSignal): Promise<Found> {
  const query = { search, sortBy: 'AddedOn', isDescending: true, itemsOnPage: SHOWN_MAX } as const
  const found = await Promise.all(
    (['ready', 'live'] as const).map((state) => listTokens(kind, { ...query, state }, signal)),
  )
  return {
    tokens: found
      .flatMap(({ rows }) => rows)
      .filter(isUsable)
      .toSorted((a, b) => b.id - a.id)
      .slice(0, SHOWN_MAX),
    total: found.reduce((sum, { total }) => sum + total, 0),
  }
}

/** A token in use may have been switched off since. */
const isUsable = ({ isActive, expiresOn }: TokenRecord): boolean =>
  isActive && (!expiresOn || Date.parse(expiresOn) > Date.now())

export const nameOf = (kind: TokenKind, { label, id }: TokenRecord): string => label || words.tokens.kinds[kind].one(id)

interface TokenChoiceProps {
  readonly kind: TokenKind
  readonly label: string
  /** Null: none yet. */
  readonly chosen: TokenRecord | null
  readonly onToken: (token: TokenRecord) => void
}

/** Chooses one of the tokens that may be used now, with a search where there are many. */
export function TokenChoice({ kind, label, chosen, onToken }: TokenChoiceProps) {
  const [search, setSearch] = useState('')
  const { data, error, reload } = useLoad((signal) => findUsable(kind, search, signal), [kind, search])
  const { tokens = [], total = 0 } = data ?? {}
  const others = tokens.filter(({ id }) => id !== chosen?.id)
  const choose = (value: string): void => {
    const token = tokens.find(({ id }) => String(id) === value)
    if (token) onToken(token)
  }
  return (
    <>
      {error && <LoadError error={error} onRetry={reload} />}
      {(search !== '' || total > SHOWN_MAX) && (
        <SearchField
          label={text.search}
          placeholder={words.tokens.searchPlaceholder}
          value={search}
          onSearch={setSearch}
        />
      )}
      <Field label={label} hint={data && hintOf(search, tokens.length, total)}>
        {(attributes) => (
          <select
            class="select"
            {...attributes}
            value={chosen === null ? '' : String(chosen.id)}
            onChange={({ currentTarget: { value } }) => choose(value)}
          >
            {chosen === null && <option value="">{text.none}</option>}
            {chosen && <option value={String(chosen.id)}>{nameOf(kind, chosen)}</option>}
            {others.map((one) => (
              <option key={one.id} value={String(one.id)}>
                {nameOf(kind, one)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}

function hintOf(search: string, shown: number, total: number): string {
  if (search !== '') return total > shown ? text.foundMany(shown, total) : text.found(total)
  return total > shown ? text.newest(shown, total) : text.usable(total)
}
