import type { ComponentChildren } from 'preact'
import { Toggle, useSubmit } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

interface SwitchedRowProps {
  readonly name: string
  /** Its own page. */
  readonly href?: string
  readonly shape: StateKind
  readonly isOn: boolean
  readonly text: { readonly enabled: string; readonly edit: string; readonly remove: string }
  readonly onSwitch: () => Promise<void>
  readonly onEdit: () => void
  readonly onRemove: () => Promise<void>
  readonly children: ComponentChildren
}

/** What belongs to a token and can be switched off, changed and removed. */
export function SwitchedRow({ name, href, shape, isOn, text, onSwitch, onEdit, onRemove, children }: SwitchedRowProps) {
  const toggle = useSubmit(onSwitch)
  const removal = useSubmit(onRemove)
  const error = toggle.error ?? removal.error
  return (
    <li>
      <Shape kind={shape} isSmall />
      <div class="grow">
        <b>{href === undefined ? name : <a href={href}>{name}</a>}</b>
        {children}
        {error && <Notice kind="error">{error.message}</Notice>}
      </div>
      {canChange() && (
        <>
          <Toggle
            label={text.enabled}
            of={name}
            isOn={isOn}
            isDisabled={toggle.isBusy}
            onChange={() => toggle.onSubmit()}
          />
          <Menu
            label={words.parts.moreFor(name)}
            items={[
              { icon: 'edit', text: text.edit, onSelect: onEdit },
              { icon: 'trash', text: text.remove, isDanger: true, onSelect: () => removal.onSubmit() },
            ]}
          />
        </>
      )}
    </li>
  )
}
