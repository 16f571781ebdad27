import { Button } from '../../parts/button.tsx'
import { words } from '../../words/words.ts'
import { saveCsv } from './csv.ts'

/** Saves a table as a file; the first row has the names of its columns. */
export function CsvButton({
  name,
  rows,
}: {
  readonly name: string
  readonly rows: readonly (readonly (string | number)[])[]
}) {
  return (
    <Button size="small" icon="download" onClick={() => saveCsv(name, rows)}>
      {words.analytics.csv}
    </Button>
  )
}
