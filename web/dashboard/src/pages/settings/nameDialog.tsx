import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'

interface NameDialogProps {
  readonly title: string
  /** Further fields, with what is wrong with each of them. */
  readonly children?: (fields: Readonly<Record<string, string>>) => ComponentChildren
  readonly onName: (name: string) => Promise<void>
  readonly onClose: () => void
}

/** Asks for the name of something new. */
export function NameDialog({ title, children, onName, onClose }: NameDialogProps) {
  const [name, setName] = useState('')
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await onName(name)
    onClose()
  })
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={title} isBusy={isBusy} onClose={onClose} />}
    >
      {error && Object.keys(fields).length === 0 && <Notice kind="error">{error.message}</Notice>}
      <TextField
        label={words.settings.name}
        required
        missing={words.problems.name}
        error={fields['name']}
        value={name}
        onValue={setName}
      />
      {children?.(fields)}
    </Dialog>
  )
}
