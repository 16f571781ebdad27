import { words } from '../words/words.ts'
import type { Column } from './table.tsx'

const text = words.parts

interface ChoiceOfRows<R, K> {
  readonly rows: readonly R[]
  readonly keyOf: (row: R) => K
  /** Tells the rows apart. */
  readonly nameOf: (row: R) => string
  readonly chosen: ReadonlySet<K>
  readonly onChosen: (chosen: ReadonlySet<K>) => void
}

/** The first column of a list whose rows can be chosen, to do something with them all. */
export function chooseColumn<R, K>({ rows, keyOf, nameOf, chosen, onChosen }: ChoiceOfRows<R, K>): Column<R> {
  const hasAll = rows.length > 0 && rows.every((row) => chosen.has(keyOf(row)))
  const chooseAll = (isOn: boolean): void => onChosen(new Set(isOn ? rows.map(keyOf) : []))
  const choose = (key: K, isOn: boolean): void =>
    onChosen(new Set(isOn ? [...chosen, key] : [...chosen].filter((one) => one !== key)))
  return {
    id: 'choose',
    title: <Box label={text.selectAll} isOn={hasAll} onChange={chooseAll} />,
    cell: (row) => (
      <Box
        label={text.select(nameOf(row))}
        isOn={chosen.has(keyOf(row))}
        onChange={(isOn) => choose(keyOf(row), isOn)}
      />
    ),
  }
}

const Box = (props: { readonly label: string; readonly isOn: boolean; readonly onChange: (isOn: boolean) => void }) => (
  <label class="check choose">
    <input
      type="checkbox"
      aria-label={props.label}
      checked={props.isOn}
      onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
    />
  </label>
)
