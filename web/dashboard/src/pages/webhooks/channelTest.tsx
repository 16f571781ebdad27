import { useState } from 'preact/hooks'
import { type ChannelWebhook, testChannelWebhook } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { SelectField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { type EventName, testsOf } from './channelEvents.ts'

const text = channelWords.channelWebhooks

interface TestDialogProps {
  readonly webhook: ChannelWebhook
  readonly onSent: (logId: string) => void
  readonly onClose: () => void
}

/** Asks for an event and sends an example of it, also to a webhook that is off or paused. */
export function TestDialog({ webhook, onSent, onClose }: TestDialogProps) {
  const names = testsOf(webhook.events)
  const [type, setType] = useState<EventName | undefined>(names[0])
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    const { id } = await call(testChannelWebhook, { path: { webhookId: webhook.id }, body: { type } })
    onClose()
    toast(text.requested)
    onSent(id)
  })
  return (
    <Dialog
      title={text.testTitle(webhook.name)}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.test} isBusy={isBusy} onClose={onClose} />}
    >
      {error && <Notice kind="error">{error.message}</Notice>}
      <p>{text.testText}</p>
      <SelectField
        label={text.testEvent}
        value={type ?? ''}
        choices={names.map((name) => [name, name])}
        onValue={(chosen) => setType(names.find((name) => name === chosen))}
      />
    </Dialog>
  )
}
