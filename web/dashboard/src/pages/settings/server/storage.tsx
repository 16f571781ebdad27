import { type Answer, readServerStorage } from '#api/tokens.ts'
import { call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { Bones, LoadError } from '../../../parts/notice.tsx'
import { Card, Pairs } from '../../../parts/page.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { bytes, count, Time } from '../../../parts/values.tsx'
import { settingsWords } from '../../../words/settingsWords.ts'
import type { NodeProps } from './nodeProps.ts'

const text = settingsWords.server.storage

type Storage = Answer<typeof readServerStorage>
type Part = Storage['parts'][number]
type StoredTable = Storage['tables'][number]

/** The disks of the node, and what fills them. */
export function StorageCard({ node }: NodeProps) {
  const { data, error, reload } = useLoad((signal) => call(readServerStorage, { query: { node } }, { signal }), [])
  return (
    <Card
      title={text.title}
      aside={
        data && (
          <span class="note">
            <Time at={data.at} />
          </span>
        )
      }
      isFlush
    >
      {error && <LoadError error={error} onRetry={reload} />}
      {!data && !error && <Bones />}
      {data && <Content {...data} />}
    </Card>
  )
}

function Content({ volumes, parts, tables }: Storage) {
  return (
    <>
      <div class="pad stack">
        <Pairs
          rows={[
            ...volumes.map(
              ({ directories, freeBytes, totalBytes }) =>
                [
                  <code key="directories">{directories.join(', ')}</code>,
                  text.free(bytes(freeBytes), bytes(totalBytes)),
                ] as const,
            ),
            ...parts.map((part) => [text.parts[part.part], sizeOf(part)] as const),
          ]}
        />
        <p class="note">{text.elsewhere}</p>
      </div>
      <Table caption={text.tables} rows={tables} keyOf={({ name }) => name} columns={columnsOf(tables)} />
    </>
  )
}

const sizeOf = ({ bytes: size, files, hasMore }: Part): string => {
  const shown = files === 0 ? bytes(size) : text.inFiles(bytes(size), files)
  return hasMore ? text.atLeast(shown) : shown
}

const columnsOf = (tables: readonly StoredTable[]): Column<StoredTable>[] => [
  { id: 'name', title: text.table, cell: ({ name }) => <code>{name}</code> },
  {
    id: 'rows',
    title: text.rows,
    kind: 'number',
    cell: ({ rows, hasMore }) => (hasMore ? text.atLeast(count(rows)) : count(rows)),
  },
  // A large SQLite database is not read for it.
  ...(tables.some((table) => table.bytes !== undefined)
    ? [
        {
          id: 'bytes',
          title: text.size,
          kind: 'number' as const,
          cell: (table: StoredTable) => bytes(table.bytes ?? 0),
        },
      ]
    : []),
]
