import type { ComponentChildren } from 'preact'
import { Shape, type StateKind } from '../../parts/state.tsx'
import './webhooks.css'

export interface Picked {
  readonly id: string | number
  readonly kind: StateKind
  readonly href: string
  readonly title: string
  readonly note: ComponentChildren
}

/** A list beside the card of the chosen row. */
export function PickList({
  label,
  rows,
  chosenId,
}: {
  readonly label: string
  readonly rows: readonly Picked[]
  readonly chosenId: string | number
}) {
  return (
    <section class="card" aria-label={label}>
      <ul class="rows pick">
        {rows.map(({ id, kind, href, title, note }) => (
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
    </section>
  )
}
