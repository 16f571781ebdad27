import { useState } from 'preact/hooks'
import { redeliverWebhookEvents } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { sinceOf } from '../../parts/pastRange.ts'
import { toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'
import { type DeliveryFilters, lostStates } from './deliveryFilters.ts'

const text = words.webhooks

interface RedeliverAllProps {
  readonly webhookId: string
  readonly filters: DeliveryFilters
  readonly onSent: () => void
}

/** Sends what did not arrive again, after a question. The server takes at most a thousand at once. */
export function RedeliverAll({ webhookId, filters, onSent }: RedeliverAllProps) {
  const [isAsking, setAsking] = useState(false)
  if (lostStates(filters).length === 0) return null
  return (
    <>
      <Button size="small" icon="refresh" onClick={() => setAsking(true)}>
        {text.allAgain}
      </Button>
      {isAsking && (
        <Question webhookId={webhookId} filters={filters} onSent={onSent} onClose={() => setAsking(false)} />
      )}
    </>
  )
}

function Question({ webhookId, filters, onSent, onClose }: RedeliverAllProps & { readonly onClose: () => void }) {
  const { type, range } = filters
  const states = lostStates(filters)
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    const body = { states, type, from: sinceOf(range, Date.now()) }
    const { redelivered, hasMore } = await call(redeliverWebhookEvents, { path: { webhookId }, body })
    onClose()
    toast(hasMore ? text.manySentMore(redelivered) : text.manySent(redelivered))
    onSent()
  })
  const about = [type ? text.types[type] : '', range === 'all' ? '' : words.parts.past[range]].filter(Boolean)
  return (
    <Dialog
      title={text.allAgainTitle}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.allAgain} isBusy={isBusy} onClose={onClose} />}
    >
      <p>
        {text.allAgainStates(states.map((state) => text.states[state]).join(', '))}{' '}
        {about.length > 0 && text.allAgainOnly(about.join(', '))}
      </p>
      <p>{text.allAgainText}</p>
      {states.includes('unknown') && <Notice kind="warn">{text.allAgainUnknown}</Notice>}
      {error && <Notice kind="error">{error.message}</Notice>}
    </Dialog>
  )
}
