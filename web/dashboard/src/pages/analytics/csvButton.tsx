import { Button } from '../../parts/button.tsx'
import { words } from '../../words/words.ts'
import { saveCsv } from './csv.ts'

/** Saves a table as a file; the first row has the names of its columns. */
export function CsvButton({
  name,
  of,
  rows,
}: {
  readonly name: string
  /** The title of the table. */
  readonly of: string
  readonly rows: readonly (readonly (string | number)[])[]
}) {
  return (
    <Button size="small" icon="download" of={of} onClick={() => saveCsv(name, rows)}>
      {words.analytics.csv}
    </Button>
  )
}
