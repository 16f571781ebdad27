import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { IconButton } from './button.tsx'
import './menu.css'

export interface MenuItem {
  readonly icon: IconName
  readonly text: ComponentChildren
  readonly isDanger?: boolean
  readonly onSelect: () => void
}

interface MenuProps {
  readonly label: string
  readonly items: readonly MenuItem[]
  /** What the button shows instead of three dots. */
  readonly face?: ComponentChildren
  /** The page that is shown is one of its items. */
  readonly isCurrent?: boolean
}

/**
 * A menu behind three dots. Arrow keys move, Escape closes and gives the focus back. It is a popover, so that no table cuts it
 * off, and stays at its button when the page scrolls.
 */
export function Menu({ label, items, face, isCurrent = false }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  useOpenMenu(root, isOpen, () => setOpen(false))
  return (
    <div class="menu-root" ref={root}>
      {face ? (
        <button
          type="button"
          aria-label={label}
          aria-haspopup="menu"
          aria-expanded={isOpen}
          aria-current={isCurrent ? 'page' : undefined}
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
        <div class="menu" role="menu" aria-label={label} popover="manual">
          {items.map(({ icon, text, isDanger = false, onSelect }, index) => (
            <button
              key={index}
              type="button"
              role="menuitem"
              class={isDanger ? 'danger' : ''}
              onClick={() => {
                setOpen(false)
                // The item is about to go. A dialog gives the focus back to what had it.
                focusButton(root)
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

const focusButton = (root: RefObject<HTMLElement | null>): void => root.current?.querySelector('button')?.focus()

/** Shows the menu in `root` while it is open, with its keys, and closes it by `close`. */
function useOpenMenu(root: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void): void {
  useEffect(() => {
    if (!isOpen) return undefined
    root.current?.querySelector<HTMLElement>('[role=menu]')?.showPopover()
    // Not closed by a scroll: its event may come from before the click.
    const follow = (): void => place(root.current)
    follow()
    const buttons = [...(root.current?.querySelectorAll<HTMLButtonElement>('[role=menuitem]') ?? [])]
    buttons[0]?.focus()
    const onKey = (event: KeyboardEvent): void => {
      const at = buttons.indexOf(document.activeElement as HTMLButtonElement)
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
      if (step !== 0) {
        event.preventDefault()
        buttons[(at + step + buttons.length) % buttons.length]?.focus()
      } else if (event.key === 'Escape' || event.key === 'Tab') {
        close()
        focusButton(root)
      }
    }
    const onPointer = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) close()
    }
    addEventListener('keydown', onKey)
    addEventListener('scroll', follow, true)
    addEventListener('resize', follow)
    addEventListener('pointerdown', onPointer)
    return () => {
      removeEventListener('keydown', onKey)
      removeEventListener('scroll', follow, true)
      removeEventListener('resize', follow)
      removeEventListener('pointerdown', onPointer)
    }
  }, [isOpen])
}

const GAP_PX = 4

/** Puts the menu below its button, or above it where no room is left. */
function place(root: HTMLElement | null): void {
  const menu = root?.querySelector<HTMLElement>('[role=menu]')
  const button = root?.querySelector('button')?.getBoundingClientRect()
  if (!menu || !button) return
  const { width, height } = menu.getBoundingClientRect()
  const isBelow = button.bottom + GAP_PX + height <= innerHeight || button.top < height + GAP_PX
  const top = isBelow ? button.bottom + GAP_PX : button.top - GAP_PX - height
  const left = Math.max(GAP_PX, Math.min(button.right, innerWidth - GAP_PX) - width)
  menu.style.setProperty('inset', `${top}px auto auto ${left}px`)
}
