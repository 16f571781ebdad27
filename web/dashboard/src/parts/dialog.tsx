import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { useSubmit } from './form.tsx'
import { useModal } from './modal.ts'
import { Notice } from './notice.tsx'
import './dialog.css'

const text = words.parts

interface DialogProps {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  /** The buttons; what closes the dialog comes first. */
  readonly foot: ComponentChildren
  /** Called by Escape and by the browser's back gesture. */
  readonly onClose: () => void
  readonly onSubmit?: (event: Event) => void
}

/** A modal dialog. It takes the focus and gives it back. */
export function Dialog({ title, children, foot, onClose, onSubmit }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useModal(dialog)
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  const submit = (event: Event): void => {
    event.preventDefault()
    onSubmit?.(event)
  }
  // Browsers close a dialog at the second Escape in a row, whatever the first one was answered.
  const stay = (): void => {
    if (dialog.current?.isConnected) dialog.current.showModal()
  }
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby={id} onCancel={cancel} onClose={stay}>
      <form onSubmit={submit}>
        <div class="body">
          <h2 id={id}>{title}</h2>
          {children}
        </div>
        <div class="foot">{foot}</div>
      </form>
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  /** What it takes along, and whether it can be undone. */
  readonly children: ComponentChildren
  /** The verb on the button. */
  readonly verb: string
  /** The person has to write this text first, where much is at stake. */
  readonly typed?: string
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

interface SubmitFootProps {
  readonly verb: string
  readonly isBusy: boolean
  readonly onClose: () => void
}

/** The buttons of a dialog that makes or changes something. */
export const SubmitFoot = ({ verb, isBusy, onClose }: SubmitFootProps) => (
  <>
    <Button onClick={onClose}>{text.cancel}</Button>
    <Button look="primary" type="submit" isBusy={isBusy}>
      {verb}
    </Button>
  </>
)

/** Asks before something is destroyed. */
export function Confirm({ title, children, verb, typed, onConfirm, onClose }: ConfirmProps) {
  const [written, setWritten] = useState('')
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    await onConfirm()
    onClose()
  })
  const id = useId()
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={
        <>
          <Button onClick={onClose}>{text.keep}</Button>
          <Button look="destroy" type="submit" isBusy={isBusy} disabled={typed !== undefined && written !== typed}>
            {verb}
          </Button>
        </>
      }
    >
      <p>{children}</p>
      {typed !== undefined && (
        <div class="field">
          <label for={id}>{text.writeToGoOn(typed)}</label>
          <input
            class="input"
            id={id}
            value={written}
            autocomplete="off"
            onInput={(event) => setWritten(event.currentTarget.value)}
          />
        </div>
      )}
      {error && <Notice kind="error">{error.message}</Notice>}
    </Dialog>
  )
}
