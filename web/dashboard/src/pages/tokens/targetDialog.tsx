import { useState } from 'preact/hooks'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'
import type { RestreamTarget } from './operations.ts'

const text = words.tokens.targets

interface TargetDialogProps {
  /** Undefined: a new one. */
  readonly target: RestreamTarget | undefined
  /** Its place in the list, which errors name. */
  readonly at: number
  readonly canTranscode: boolean
  readonly onSave: (target: RestreamTarget) => Promise<void>
  readonly onClose: () => void
}

const NEW: RestreamTarget = { url: '', key: '', label: '', enabled: true, transcode: false }

/**
 * Asks for a target. An empty key keeps the one that is stored, which the page knows only the end of. SRT and RTSP have their secrets
 * in the address, and no key.
 */
export function TargetDialog({ target, at, canTranscode, onSave, onClose }: TargetDialogProps) {
  const [form, setForm] = useState({ ...(target ?? NEW), key: '' })
  const hasSecretUrl = /^\s*(srt|rtsps?):/i.test(form.url)
  const set = (change: Partial<RestreamTarget>): void => setForm({ ...form, ...change })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await onSave({ ...form, url: form.url.trim(), key: hasSecretUrl ? '' : form.key.trim() || (target?.key ?? '') })
    onClose()
  })
  const errorOf = (name: string): string | undefined => fields[`restream[${at}].${name}`]
  const isShown = ['url', 'key', 'label'].some((name) => errorOf(name) !== undefined)
  return (
    <Dialog
      title={target ? text.edit : text.add}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={target ? text.save : text.add} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !isShown && <Notice kind="error">{Object.values(fields)[0] ?? error.message}</Notice>}
      <TextField
        label={text.url}
        hint={hasSecretUrl && form.url === target?.url ? text.urlKept : text.urlHint}
        placeholder="rtmps://a.rtmps.youtube.com/live2"
        required
        autocomplete="off"
        maxLength={2048}
        error={errorOf('url')}
        value={form.url}
        onValue={(url) => set({ url })}
      />
      {!hasSecretUrl && (
        <TextField
          label={text.key}
          hint={target ? text.keyKept(target.key) : text.keyHint}
          type="password"
          required={target === undefined}
          autocomplete="off"
          maxLength={512}
          error={errorOf('key')}
          value={form.key}
          onValue={(key) => set({ key })}
        />
      )}
      <TextField
        label={text.label}
        isOptional
        autocomplete="off"
        maxLength={2048}
        error={errorOf('label')}
        value={form.label}
        onValue={(label) => set({ label })}
      />
      {canTranscode && (
        <Toggle
          label={text.transcode}
          note={text.transcodeNote}
          isOn={form.transcode}
          onChange={(transcode) => set({ transcode })}
        />
      )}
    </Dialog>
  )
}
