import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Opens a dialog, which takes the focus, and gives the focus back when it is gone. */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  // Before the next key, which belongs to the dialog already.
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
}
