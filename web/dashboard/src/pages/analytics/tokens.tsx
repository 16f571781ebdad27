import { useState } from 'preact/hooks'
import { readAccountUsageByToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { bytes } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { listTokens } from '../tokens/operations.ts'
import type { TokenKind } from '../tokens/tokenForm.ts'
import { kindOfUsage, type TokenUsage } from './breakdown.ts'
import { CsvButton } from './csvButton.tsx'
import type { Range } from './range.ts'

const text = words.analytics
/** The rows that are shown first; the report has at most 100. */
const SHOWN = 10
const LABELS_MOST = 100

type Named = ReadonlyMap<number, { readonly kind: TokenKind; readonly label: string }>

/** Kind and label of the tokens that were used last. Others are named by their id. */
async function loadNames(signal: AbortSignal): Promise<Named> {
  const query = { search: '', sortBy: 'LastUsedOn', isDescending: true, itemsOnPage: LABELS_MOST } as const
  const of = async (kind: TokenKind) => {
    const { rows } = await listTokens(kind, query, signal)
    return rows.map(({ id, label }) => [id, { kind, label }] as const)
  }
  return new Map((await Promise.all([of('publish'), of('subscribe')])).flat())
}

/** Bytes by token, the most first. */
export function Tokens({ range }: { readonly range: Range }) {
  const [isWhole, setWhole] = useState(false)
  const load = useLoad(
    (signal) => call(readAccountUsageByToken, { query: { ...range, mediaOnly: true } }, { signal }),
    [range.startDate, range.stopDate],
  )
  const names = useLoad(loadNames, [range.startDate, range.stopDate])
  const rows = (load.data ?? []).filter(({ bytesOut, bytesIn }) => bytesOut + bytesIn > 0)
  const shown = isWhole ? rows : rows.slice(0, SHOWN)
  const csv = rows.map(({ tokenId = '', bytesOut, bytesIn }) => [tokenId, bytesOut, bytesIn])
  return (
    <Card
      title={text.byToken}
      isFlush
      aside={
        load.data && (
          <CsvButton name="sluice-tokens.csv" of={text.byToken} rows={[['tokenId', 'bytesOut', 'bytesIn'], ...csv]} />
        )
      }
      foot={
        load.data && (
          <More
            count={shown.length}
            hasMore={rows.length > shown.length}
            isBusy={false}
            onMore={() => setWhole(true)}
          />
        )
      }
    >
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones />}
      {load.data && (
        <Table
          caption={text.byToken}
          rows={shown}
          keyOf={({ tokenId = 0 }) => tokenId}
          columns={columnsOf(names.data ?? new Map())}
        />
      )}
    </Card>
  )
}

const columnsOf = (names: Named): readonly Column<TokenUsage>[] => [
  { id: 'token', title: text.token, cell: (row) => <Name row={row} names={names} /> },
  { id: 'out', title: text.out, kind: 'number', cell: ({ bytesOut }) => bytes(bytesOut) },
  { id: 'in', title: text.in, kind: 'number', priority: 2, cell: ({ bytesIn }) => bytes(bytesIn) },
]

function Name({ row, names }: { readonly row: TokenUsage; readonly names: Named }) {
  const { tokenId } = row
  if (tokenId === undefined) return <span class="faint">{text.noToken}</span>
  const { kind, label } = names.get(tokenId) ?? { kind: kindOfUsage(row), label: '' }
  const name = words.tokens.kinds[kind].one(tokenId)
  return (
    <>
      <a class="row" href={linkTo(`/tokens/${kind}/${tokenId}`)}>
        {label || name}
      </a>
      {label && <span class="sub">{name}</span>}
    </>
  )
}
