import type { TargetedKeyboardEvent } from 'preact'
import { useState } from 'preact/hooks'
import { Field, pasteLines } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { words } from '../../words/words.ts'
import { checkStream } from './checks.ts'
import { PatternNotes, usePatterns } from './patternNotes.tsx'
import { readEntries, type StreamEntry } from './streamEntry.ts'

const text = words.tokens.form

const keyOf = ({ streamName, isRegex }: StreamEntry): string => `${isRegex}${streamName}`

/** Names and `/patterns/` of a token. A comma may belong to a pattern, so a text that begins with `/` ends with Enter. */
export function StreamsField(props: {
  readonly value: readonly StreamEntry[]
  readonly error?: string | undefined
  readonly onValue: (value: readonly StreamEntry[]) => void
}) {
  const { value, onValue } = props
  const [typed, setTyped] = useState('')
  const tested = usePatterns(value)
  const problemOf = (entry: StreamEntry): string | null =>
    checkStream(entry) ?? (entry.isRegex ? (tested.get(entry.streamName)?.error ?? null) : null)
  const wrong = value.map(problemOf).find((problem) => problem !== null) ?? undefined
  const take = (written: string): void => {
    const fresh = readEntries(written).filter((one) => !value.some(({ streamName }) => streamName === one.streamName))
    if (fresh.length > 0) onValue([...value, ...fresh])
    setTyped('')
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Enter' && typed.trim() !== '') {
      event.preventDefault()
      take(typed)
    } else if (event.key === 'Backspace' && typed === '' && value.length > 0) onValue(value.slice(0, -1))
  }
  const onInput = (written: string): void =>
    written.includes(',') && !written.trimStart().startsWith('/') ? take(written) : setTyped(written)
  const hint = (
    <>
      {text.streamsHint}
      <PatternNotes entries={value} tested={tested} />
    </>
  )
  return (
    <Field label={text.streams} hint={hint} problem={wrong} error={props.error} missing={words.problems.streams}>
      {(attributes) => (
        <div class="chips">
          {value.map((entry) => (
            <span key={keyOf(entry)} class={problemOf(entry) === null ? '' : 'bad'}>
              {entry.streamName}
              {entry.isRegex && (
                <>
                  {' '}
                  <span class="tag">{words.tokens.pattern}</span>
                </>
              )}
              <button
                type="button"
                aria-label={words.parts.remove(entry.streamName)}
                onClick={() => onValue(value.filter((one) => one !== entry))}
              >
                <Icon name="close" isSmall />
              </button>
            </span>
          ))}
          <input
            {...attributes}
            required={value.length === 0}
            placeholder={text.streamsPlaceholder}
            value={typed}
            onKeyDown={onKeyDown}
            onPaste={pasteLines}
            onBlur={() => take(typed)}
            onInput={({ currentTarget }) => onInput(currentTarget.value)}
          />
        </div>
      )}
    </Field>
  )
}
