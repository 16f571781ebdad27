import { bytes } from '../../parts/values.tsx'
import '../../parts/bars.css'

export interface BytesBar {
  readonly key: string
  readonly label: string
  readonly bytes: number
}

/** Amounts of bytes beside one another, the most first. */
export function BytesBars({ rows }: { readonly rows: readonly BytesBar[] }) {
  const most = Math.max(1, ...rows.map((row) => row.bytes))
  return (
    <ul class="bars">
      {rows.map((row) => (
        <li key={row.key}>
          <span>{row.label}</span>
          <span class="n">{bytes(row.bytes)}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="f1" width={(row.bytes / most) * 100} height="6" />
          </svg>
        </li>
      ))}
    </ul>
  )
}
