import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'
import './search.css'

interface SearchProps {
  readonly label: string
  readonly placeholder: string
  /** What is searched now. */
  readonly value: string
  /** Gets the text without spaces around it. */
  readonly onSearch: (text: string) => void
}

const PAUSE_MS = 250
/** No name or address is longer. */
const MOST_CHARACTERS = 128

/** A search that waits for a pause in typing. */
export function SearchField({ label, placeholder, value, onSearch }: SearchProps) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  useEffect(() => {
    // Another value than the one that was sent comes from a link or a button, and replaces what was typed.
    if (value !== sent.current) setTyped(value)
    sent.current = value
  }, [value])
  useEffect(() => {
    const text = typed.trim()
    if (text === sent.current) return undefined
    const timer = setTimeout(() => {
      sent.current = text
      onSearch(text)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        maxLength={MOST_CHARACTERS}
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </div>
  )
}
