import type { ComponentChildren } from 'preact'
import { Icon } from '../../parts/icon.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { useWholeList } from '../../parts/wholeList.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import './webhooks.css'

export interface Picked {
  readonly id: string | number
  readonly kind: StateKind
  readonly href: string
  readonly title: string
  readonly note: ComponentChildren
}

interface SideListProps {
  readonly list: ComponentChildren
  /** The address of the page that names none of the list. */
  readonly path: string
  /** Where there is no room for both, what is chosen is shown, else the list. */
  readonly isChosen: boolean
  /** The list has something else to choose. */
  readonly hasOthers: boolean
  readonly children: ComponentChildren
}

/** A list beside what is chosen in it. */
export const SideList = ({ list, path, isChosen, hasOthers, children }: SideListProps) => (
  <div class={`cols side-list ${isChosen || !hasOthers ? 'chosen' : ''}`}>
    <div class="stack">{list}</div>
    <div class="stack">
      {hasOthers && (
        <a class="crumb" href={linkTo(path)}>
          <Icon name="back" isSmall />
          {words.webhooks.all}
        </a>
      )}
      {children}
    </div>
  </div>
)

/** The rows of a list, with a mark at the chosen one. */
export function PickList({
  label,
  rows,
  chosenId,
}: {
  readonly label: string
  readonly rows: readonly Picked[]
  readonly chosenId: string | number | undefined
}) {
  const chosen = rows.find(({ id }) => id === chosenId)
  const { shown, tools, foot } = useWholeList(rows, ({ title }) => title, chosen)
  return (
    <section class="card" aria-label={label}>
      {tools}
      <ul class="rows pick">
        {shown.map(({ id, kind, href, title, note }) => (
          <li key={id} class={id === chosenId ? 'now' : ''} aria-current={id === chosenId ? 'true' : undefined}>
            <Shape kind={kind} isSmall />
            <div class="grow">
              <a class="row-link" href={href}>
                {title}
              </a>
              <p>{note}</p>
            </div>
          </li>
        ))}
      </ul>
      {foot && <div class="card-foot">{foot}</div>}
    </section>
  )
}
