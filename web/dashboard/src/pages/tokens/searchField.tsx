import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'

const text = words.tokens
const SEARCH_WAIT_MS = 250

/** The search waits for a pause in typing before it changes the address. */
export function SearchField({ value }: { readonly value: string }) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  useEffect(() => {
    if (value !== sent.current) setTyped(value)
    sent.current = value
  }, [value])
  useEffect(() => {
    if (typed === sent.current) return undefined
    const timer = setTimeout(() => {
      sent.current = typed
      setQuery({ search: typed || undefined, page: undefined })
    }, SEARCH_WAIT_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        maxLength={128}
        aria-label={text.searchLabel}
        placeholder={text.searchPlaceholder}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </div>
  )
}
