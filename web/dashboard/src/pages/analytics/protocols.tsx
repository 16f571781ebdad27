import { readAccountUsageByProtocol } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { words } from '../../words/words.ts'
import { protocolRows } from './breakdown.ts'
import { BytesBars } from './bytesBars.tsx'
import { CsvButton } from './csvButton.tsx'
import type { Range } from './range.ts'

const text = words.analytics

/** Bytes by protocol and direction. */
export function Protocols({ range }: { readonly range: Range }) {
  const load = useLoad(
    (signal) => call(readAccountUsageByProtocol, { query: { ...range, mediaOnly: true } }, { signal }),
    [range.startDate, range.stopDate],
  )
  const { data = {} } = load
  const csv = Object.entries(data).map(([protocol, { bytesOut, bytesIn }]) => [protocol, bytesOut, bytesIn] as const)
  return (
    <Card
      title={text.byProtocol}
      aside={
        load.data && (
          <CsvButton
            name="sluice-protocols.csv"
            of={text.byProtocol}
            rows={[['protocol', 'bytesOut', 'bytesIn'], ...csv]}
          />
        )
      }
    >
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones />}
      <BytesBars
        rows={protocolRows(data).map(({ protocol, direction, bytes }) => ({
          key: `${protocol} ${direction}`,
          label: text.protocolWay[direction](protocol.toUpperCase()),
          bytes,
        }))}
      />
    </Card>
  )
}
