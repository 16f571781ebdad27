import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface SearchFormProps {
  readonly label: string
  readonly placeholder: string
  /** What is searched now. */
  readonly value: string
  /** Called after Enter, without spaces around the text. */
  readonly onSearch: (text: string) => void
}

/** A search that waits for Enter, for lists that find whole names or ids. */
export function SearchForm({ label, placeholder, value, onSearch }: SearchFormProps) {
  const [typed, setTyped] = useState(value)
  const submit = (event: Event): void => {
    event.preventDefault()
    onSearch(typed.trim())
  }
  return (
    <form class="search" role="search" onSubmit={submit}>
      <Icon name="search" isSmall />
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        // Clearing the field with its own button searches too.
        onSearch={submit}
      />
    </form>
  )
}
