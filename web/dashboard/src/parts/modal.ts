import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

/** Opens a dialog, which takes the focus, and gives the focus back when it is gone. */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  // Before the next key, which belongs to the dialog already.
  useLayoutEffect(() => {
    const [before, element] = [document.activeElement, dialog.current]
    element?.showModal()
    return () => {
      // While it is open, nothing outside of it takes the focus.
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
}
