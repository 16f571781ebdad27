import { useState } from 'preact/hooks'
import { createWebhook } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'
import { KINDS } from './webhook.ts'

const text = words.webhooks

/** Asks for the URL and the events of a new webhook. */
export function NewWebhook({
  onMade,
  onClose,
}: {
  readonly onMade: (id: number) => void
  readonly onClose: () => void
}) {
  const [url, setUrl] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(['isFeedHooks']))
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const switches = Object.fromEntries([...chosen].map((key) => [key, true]))
    const made = await call(createWebhook, { body: { url, ...switches } })
    onClose()
    onMade(made.id)
  })
  const change = (key: string, isOn: boolean): void => {
    const others = [...chosen].filter((one) => one !== key)
    setChosen(new Set(isOn ? [...others, key] : others))
  }
  return (
    <Dialog
      title={text.create}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.create} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !fields['url'] && <Notice kind="error">{error.message}</Notice>}
      <TextField
        label={text.url}
        type="url"
        required
        missing={words.problems.url}
        hint={text.urlHint}
        error={fields['url']}
        value={url}
        onValue={setUrl}
      />
      <fieldset class="form gap-s">
        <legend class="label">{text.receives}</legend>
        {KINDS.map(({ key }) => (
          <Toggle
            key={key}
            label={text.kinds[key].name}
            note={text.kinds[key].note}
            isOn={chosen.has(key)}
            onChange={(isOn) => change(key, isOn)}
          />
        ))}
      </fieldset>
    </Dialog>
  )
}
