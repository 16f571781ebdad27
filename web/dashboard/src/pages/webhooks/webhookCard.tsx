import { useState } from 'preact/hooks'
import { deleteWebhook, testWebhook, updateWebhook } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Card } from '../../parts/page.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { goLater } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { PausedNotice } from './paused.tsx'
import { KINDS, type Webhook } from './webhook.ts'

const text = words.webhooks

type Question = 'delete' | 'renew' | null

interface WebhookCardProps {
  readonly webhook: Webhook
  readonly title: string
  readonly onChanged: () => Promise<void>
  /** A test was sent, so there is a new delivery. */
  readonly onTested: () => void
}

type Change = (body: Record<string, boolean | string | null>) => Promise<void>

/** One webhook: its address, its secret and its switches. Each switch takes effect at once. */
export function WebhookCard({ webhook, title, onChanged, onTested }: WebhookCardProps) {
  const [asked, setAsked] = useState<Question>(null)
  const path = { webhookId: String(webhook.id) }
  const change: Change = async (body) => {
    try {
      await call(updateWebhook, { path, body })
    } finally {
      // After a refusal too: the page shows what holds now.
      await onChanged()
    }
  }
  const test = async (type: string): Promise<void> => {
    await call(testWebhook, { path: { ...path, webhookType: type }, body: {} })
    toast(text.tested)
    onTested()
  }
  const items = [
    ...KINDS.map(({ key, type }) => ({
      icon: 'webhooks' as const,
      text: text.test(text.kinds[key].name),
      onSelect: () => void orToast(test(type)),
    })),
    { icon: 'refresh' as const, text: text.renew, onSelect: () => setAsked('renew') },
    { icon: 'trash' as const, text: text.delete, isDanger: true, onSelect: () => setAsked('delete') },
  ]
  return (
    <Card title={title} aside={canChange() && <Menu label={words.parts.moreFor(title)} items={items} />}>
      {webhook.disabled && (
        <PausedNotice pause={webhook.disabled} note={text.pausedText} onResume={() => change({ reEnable: true })} />
      )}
      <div class="cols half">
        <div class="form">
          <CopyField label={text.url} what={text.url} value={webhook.url} />
          {webhook.secret && <CopyField label={text.secret} what={text.secret} value={webhook.secret} isSecret />}
          <Filter webhook={webhook} onSave={(filter) => change({ filter: filter || null })} />
        </div>
        <Switches webhook={webhook} onChange={change} />
      </div>
      {asked === 'renew' && <AskRenewal onChange={change} onClose={() => setAsked(null)} />}
      {asked === 'delete' && (
        <AskDeletion webhook={webhook} title={title} onChanged={onChanged} onClose={() => setAsked(null)} />
      )}
    </Card>
  )
}

const Switches = ({ webhook, onChange }: { readonly webhook: Webhook; readonly onChange: Change }) => (
  <fieldset class="form gap-s">
    <legend class="label">{text.receives}</legend>
    {KINDS.map(({ key }) => (
      <Toggle
        key={key}
        label={text.kinds[key].name}
        note={text.kinds[key].note}
        isOn={webhook[key]}
        isDisabled={!canChange()}
        onChange={(isOn) => orToast(onChange({ [key]: isOn }))}
      />
    ))}
  </fieldset>
)

const AskRenewal = ({ onChange, onClose }: { readonly onChange: Change; readonly onClose: () => void }) => (
  <Confirm
    title={text.renewTitle}
    verb={text.renew}
    onConfirm={() => onChange({ refreshSecret: true })}
    onClose={onClose}
  >
    {text.renewText}
  </Confirm>
)

interface AskDeletionProps {
  readonly webhook: Webhook
  readonly title: string
  readonly onChanged: () => Promise<void>
  readonly onClose: () => void
}

function AskDeletion({ webhook, title, onChanged, onClose }: AskDeletionProps) {
  const remove = async (): Promise<void> => {
    const then = goLater()
    await call(deleteWebhook, { path: { webhookId: String(webhook.id) } })
    toast(text.deleted(title))
    then('/webhooks')
    void onChanged()
  }
  return (
    <Confirm title={text.deleteTitle(title)} verb={text.delete} onConfirm={remove} onClose={onClose}>
      {text.deleteText}
    </Confirm>
  )
}

function Filter({
  webhook,
  onSave,
}: {
  readonly webhook: Webhook
  readonly onSave: (filter: string) => Promise<void>
}) {
  const [filter, setFilter] = useState(webhook.filter ?? '')
  const { isBusy, error, fields, onSubmit } = useSubmit(() => onSave(filter))
  return (
    <form class="form gap-s" onSubmit={onSubmit}>
      <TextField
        label={text.filter}
        isOptional
        hint={text.filterHint}
        disabled={!canChange()}
        error={fields['filter'] ?? error?.message}
        value={filter}
        onValue={setFilter}
      />
      {filter !== (webhook.filter ?? '') && (
        <Button size="small" type="submit" isBusy={isBusy}>
          {words.parts.save}
        </Button>
      )}
    </form>
  )
}
