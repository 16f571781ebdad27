import { words } from '../words/words.ts'
import { PAST_RANGES, type PastRange, readPastRange } from './pastRange.ts'

const text = words.parts.past

interface PastRangeSelectProps {
  readonly value: PastRange
  readonly onChange: (range: PastRange) => void
}

export function PastRangeSelect({ value, onChange }: PastRangeSelectProps) {
  return (
    <select
      class="select auto"
      aria-label={words.parts.time}
      value={value}
      onChange={({ currentTarget }) => onChange(readPastRange(currentTarget.value, 'all'))}
    >
      {PAST_RANGES.map((range) => (
        <option key={range} value={range}>
          {text[range]}
        </option>
      ))}
    </select>
  )
}
