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
import { go } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { hostOf, type Webhook } from './page.tsx'
import { PausedNotice } from './paused.tsx'

const text = words.webhooks

/** The switches of a webhook. `type` names the events in a test. */
export const KINDS = [
  { key: 'isFeedHooks', type: 'Feeds' },
  { key: 'isMediaHooks', type: 'Media' },
  { key: 'isThumbnailHooks', type: 'Thumbnail' },
  { key: 'isTranscoderHooks', type: 'Transcoder' },
  { key: 'isViewerConnectionHooks', type: 'ViewerConnection' },
] as const

/** What a webhook receives, in words. */
export const kindsOf = (webhook: Webhook): string[] =>
  KINDS.filter(({ key }) => webhook[key]).map(({ key }) => text.kinds[key].name)

type Asked = 'delete' | 'renew' | null

interface WebhookCardProps {
  readonly webhook: Webhook
  readonly onChanged: () => void
  /** A test was sent, so there is a new delivery. */
  readonly onTested: () => void
}

/** One webhook: its address, its secret and its switches. Each switch takes effect at once. */
export function WebhookCard({ webhook, onChanged, onTested }: WebhookCardProps) {
  const [asked, setAsked] = useState<Asked>(null)
  const path = { webhookId: String(webhook.id) }
  const change = async (body: Record<string, boolean | string | null>): Promise<void> => {
    try {
      await call(updateWebhook, { path, body })
    } finally {
      // After a refusal too: the page shows what holds now.
      onChanged()
    }
  }
  const test = async (type: string): Promise<void> => {
    await call(testWebhook, { path: { ...path, webhookType: type }, body: {} })
    toast(text.tested)
    onTested()
  }
  const remove = async (): Promise<void> => {
    await call(deleteWebhook, { path })
    toast(text.deleted(hostOf(webhook)))
    go('/webhooks')
    onChanged()
  }
  const tests = KINDS.map(({ key, type }) => ({
    icon: 'webhooks' as const,
    text: text.test(text.kinds[key].name),
    onSelect: () => void orToast(test(type)),
  }))
  const items = [
    ...tests,
    { icon: 'refresh' as const, text: text.renew, onSelect: () => setAsked('renew') },
    { icon: 'trash' as const, text: text.delete, isDanger: true, onSelect: () => setAsked('delete') },
  ]
  return (
    <Card
      title={hostOf(webhook)}
      aside={canChange() && <Menu label={words.parts.moreFor(hostOf(webhook))} items={items} />}
    >
      {webhook.disabled && (
        <PausedNotice pause={webhook.disabled} note={text.pausedText} onResume={() => change({ reEnable: true })} />
      )}
      <div class="cols half">
        <div class="form">
          <CopyField label={text.url} what={text.url} value={webhook.url} />
          {webhook.secret && <CopyField label={text.secret} what={text.secret} value={webhook.secret} isSecret />}
          <Filter webhook={webhook} onSave={(filter) => change({ filter: filter || null })} />
        </div>
        <fieldset class="form gap-s">
          <legend class="label">{text.receives}</legend>
          {KINDS.map(({ key }) => (
            <Toggle
              key={key}
              label={text.kinds[key].name}
              note={text.kinds[key].note}
              isOn={webhook[key]}
              isDisabled={!canChange()}
              onChange={(isOn) => void orToast(change({ [key]: isOn }))}
            />
          ))}
        </fieldset>
      </div>
      {asked === 'renew' && (
        <Confirm
          title={text.renewTitle}
          verb={text.renew}
          onConfirm={() => change({ refreshSecret: true })}
          onClose={() => setAsked(null)}
        >
          {text.renewText}
        </Confirm>
      )}
      {asked === 'delete' && (
        <Confirm
          title={text.deleteTitle(hostOf(webhook))}
          verb={text.delete}
          onConfirm={remove}
          onClose={() => setAsked(null)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </Card>
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
