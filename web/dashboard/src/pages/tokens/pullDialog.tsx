import { useState } from 'preact/hooks'
import type { Answer, listPulls } from '#api/tokens.ts'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'

const text = words.tokens.pulls

export type Pull = Answer<typeof listPulls>[number]

/** What the dialog asks for. Without a URL the stored one stays. */
export interface PullBody {
  readonly url?: string
  readonly streamName: string
  readonly label: string
  readonly when: Pull['when']
}

interface PullDialogProps {
  /** Undefined: a new one. */
  readonly pull: Pull | undefined
  /** What a new one is offered. */
  readonly streamName: string
  readonly onSave: (body: PullBody) => Promise<void>
  readonly onClose: () => void
}

/** Asks for a source. An empty URL keeps the one that is stored, which the page knows without its secrets. */
export function PullDialog({ pull, streamName, onSave, onClose }: PullDialogProps) {
  const [form, setForm] = useState({
    url: '',
    streamName: pull?.streamName ?? streamName,
    label: pull?.label ?? '',
    when: pull?.when ?? 'always',
  })
  const set = (change: Partial<typeof form>): void => setForm({ ...form, ...change })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const { url, ...rest } = form
    await onSave({ ...rest, ...(url.trim() === '' ? {} : { url: url.trim() }) })
    onClose()
  })
  const isShown = ['url', 'streamName', 'label'].some((name) => fields[name] !== undefined)
  return (
    <Dialog
      title={pull ? text.edit : text.add}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={pull ? text.save : text.add} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !isShown && <Notice kind="error">{Object.values(fields)[0] ?? error.message}</Notice>}
      <TextField
        label={text.url}
        hint={pull ? text.urlKept(pull.url) : text.urlHint}
        placeholder="rtsp://user:password@192.168.1.20/stream1"
        required={pull === undefined}
        autocomplete="off"
        maxLength={2048}
        error={fields['url']}
        value={form.url}
        onValue={(url) => set({ url })}
      />
      <TextField
        label={text.stream}
        required
        autocomplete="off"
        maxLength={256}
        error={fields['streamName']}
        value={form.streamName}
        onValue={(name) => set({ streamName: name })}
      />
      <TextField
        label={text.label}
        isOptional
        autocomplete="off"
        maxLength={2048}
        error={fields['label']}
        value={form.label}
        onValue={(label) => set({ label })}
      />
      <Toggle
        label={text.onDemand}
        note={text.onDemandNote}
        isOn={form.when === 'onDemand'}
        onChange={(isOn) => set({ when: isOn ? 'onDemand' : 'always' })}
      />
    </Dialog>
  )
}
