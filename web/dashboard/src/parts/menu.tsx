import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { IconButton } from './button.tsx'

export interface MenuItem {
  readonly icon: IconName
  readonly text: ComponentChildren
  readonly isDanger?: boolean
  readonly onSelect: () => void
}

/** A menu behind three dots. Arrow keys move, Escape closes and gives the focus back. */
interface MenuProps {
  readonly label: string
  readonly items: readonly MenuItem[]
  /** What the button shows instead of three dots. */
  readonly face?: ComponentChildren
}

export function Menu({ label, items, face }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return undefined
    const buttons = [...(root.current?.querySelectorAll<HTMLButtonElement>('[role=menuitem]') ?? [])]
    buttons[0]?.focus()
    const onKey = (event: KeyboardEvent): void => {
      const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
      if (step !== 0) {
        event.preventDefault()
        buttons[(at + step + buttons.length) % buttons.length]?.focus()
      } else if (event.key === 'Escape' || event.key === 'Tab') {
        setOpen(false)
        root.current?.querySelector('button')?.focus()
      }
    }
    const onPointer = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    addEventListener('keydown', onKey)
    addEventListener('pointerdown', onPointer)
    return () => {
      removeEventListener('keydown', onKey)
      removeEventListener('pointerdown', onPointer)
    }
  }, [isOpen])
  return (
    <div class="menu-root" ref={root}>
      {face ? (
        <button
          type="button"
          aria-label={label}
          aria-haspopup="menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {face}
        </button>
      ) : (
        <IconButton
          icon="dots"
          label={label}
          aria-haspopup="menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      )}
      {isOpen && (
        <div class="menu" role="menu" aria-label={label}>
          {items.map(({ icon, text, isDanger = false, onSelect }, index) => (
            <button
              key={index}
              type="button"
              role="menuitem"
              class={isDanger ? 'danger' : ''}
              onClick={() => {
                setOpen(false)
                onSelect()
              }}
            >
              <Icon name={icon} />
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
