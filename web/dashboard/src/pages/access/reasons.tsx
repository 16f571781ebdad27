import { Card } from '../../parts/page.tsx'
import type { PastRange } from '../../parts/pastRange.ts'
import { count } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import { linkToAccess } from './filters.ts'
import '../../parts/bars.css'

const text = words.access
const SHOWN = 6
const WIDTH = 100

/** Refusals by reason, the most frequent first; each leads to its decisions. */
export function ReasonsCard(props: {
  readonly codes: readonly { readonly code: string; readonly count: number }[]
  /** The time range of the page, for the links. */
  readonly range: PastRange
}) {
  const codes = props.codes.toSorted((a, b) => b.count - a.count).slice(0, SHOWN)
  const most = Math.max(1, ...codes.map((one) => one.count))
  if (codes.length === 0) return null
  return (
    <Card title={text.byReason} aside={<span class="note">{text.countedIn[props.range]}</span>}>
      <ul class="bars">
        {codes.map((one) => (
          <li key={one.code}>
            <span>
              <a href={linkToAccess({ code: one.code, range: props.range })}>{text.codes[one.code] ?? one.code}</a>
            </span>
            <span class="n">{count(one.count)}</span>
            <svg viewBox={`0 0 ${WIDTH} 6`} preserveAspectRatio="none" aria-hidden="true">
              <rect class="f-error" width={Math.max(1, (one.count / most) * WIDTH)} height="6" />
            </svg>
          </li>
        ))}
      </ul>
    </Card>
  )
}
