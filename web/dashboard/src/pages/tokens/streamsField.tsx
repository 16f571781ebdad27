import { Chips, Field } from '../../parts/form.tsx'
import { words } from '../../words/words.ts'
import { checkStream } from './checks.ts'
import { PatternNotes, usePatterns } from './patternNotes.tsx'
import { readEntries, type StreamEntry } from './streamEntry.ts'

const text = words.tokens.form

/** Names and `/patterns/` of a token. A comma may belong to a pattern, so a text that begins with `/` ends with Enter. */
export function StreamsField(props: {
  readonly value: readonly StreamEntry[]
  readonly error?: string | undefined
  readonly onValue: (value: readonly StreamEntry[]) => void
}) {
  const { value, onValue } = props
  const tested = usePatterns(value)
  const problemOf = (entry: StreamEntry): string | null =>
    checkStream(entry) ?? (entry.isRegex ? (tested.get(entry.streamName)?.error ?? null) : null)
  const wrong = value.map(problemOf).find((problem) => problem !== null)
  const read = (written: string): StreamEntry[] =>
    readEntries(written).filter((one) => !value.some(({ streamName }) => streamName === one.streamName))
  const hint = (
    <>
      {text.streamsHint}
      <PatternNotes entries={value} tested={tested} />
    </>
  )
  return (
    <Field label={text.streams} hint={hint} problem={wrong} error={props.error} missing={words.problems.streams}>
      {(attributes) => (
        <Chips
          attributes={attributes}
          values={value}
          nameOf={({ streamName }) => streamName}
          isWrong={(entry) => problemOf(entry) !== null}
          mark={(entry) => entry.isRegex && <PatternMark />}
          read={read}
          isWhole={(written) => written.includes(',') && !written.trimStart().startsWith('/')}
          onValues={onValue}
          placeholder={text.streamsPlaceholder}
          required={value.length === 0}
        />
      )}
    </Field>
  )
}

const PatternMark = () => (
  <>
    {' '}
    <span class="tag">{words.tokens.pattern}</span>
  </>
)
