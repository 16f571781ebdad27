import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/dialog.tsx'
import { Toggle } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Shape, type StateKind } from '../../parts/state.tsx'
import { orToast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

interface SwitchedRowProps {
  readonly name: string
  /** Its own page. */
  readonly href?: string
  readonly shape: StateKind
  readonly isOn: boolean
  readonly text: {
    readonly enabled: string
    readonly edit: string
    readonly remove: string
    readonly removeTitle: (name: string) => string
    readonly removeText: string
  }
  /** Resolves once its outcome is shown. */
  readonly onSwitch: () => Promise<void>
  readonly onEdit: () => void
  readonly onRemove: () => Promise<void>
  readonly children: ComponentChildren
}

/** What belongs to a token and can be switched off, changed and removed. */
export function SwitchedRow({ name, href, shape, isOn, text, onSwitch, onEdit, onRemove, children }: SwitchedRowProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <li>
      <Shape kind={shape} isSmall />
      <div class="grow">
        <b>{href === undefined ? name : <a href={href}>{name}</a>}</b>
        {children}
      </div>
      {canChange() && (
        <>
          <Toggle label={text.enabled} of={name} isOn={isOn} onChange={() => orToast(onSwitch())} />
          <Menu
            label={words.parts.moreFor(name)}
            items={[
              { icon: 'edit', text: text.edit, onSelect: onEdit },
              { icon: 'trash', text: text.remove, isDanger: true, onSelect: () => setAsking(true) },
            ]}
          />
        </>
      )}
      {isAsking && (
        <Confirm
          title={text.removeTitle(name)}
          verb={text.remove}
          onConfirm={onRemove}
          onClose={() => setAsking(false)}
        >
          {text.removeText}
        </Confirm>
      )}
    </li>
  )
}
