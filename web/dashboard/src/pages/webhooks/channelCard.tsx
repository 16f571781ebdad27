import { useState } from 'preact/hooks'
import {
  type ChannelWebhook,
  deleteChannelWebhook,
  readChannelWebhookSecret,
  rotateChannelWebhookSecret,
  updateChannelWebhook,
} from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { AskedSecret, CopyField } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Toggle } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { goLater } from '../../router.ts'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { ALL_EVENTS } from './channelEvents.ts'
import { ChannelWebhookForm } from './channelForm.tsx'
import { TestDialog } from './channelTest.tsx'
import { PausedNotice } from './paused.tsx'

const text = channelWords.channelWebhooks
const common = words.webhooks

type Question = 'edit' | 'test' | 'renew' | 'delete' | null

interface ChannelWebhookCardProps {
  readonly webhook: ChannelWebhook
  readonly onChanged: () => Promise<void>
  /** Something was sent: the log gets an entry with this id. */
  readonly onSent: (logId: string) => void
}

/** One webhook of channels: its address, its secret, its events, and whether it is active. */
export function ChannelWebhookCard({ webhook, onChanged, onSent }: ChannelWebhookCardProps) {
  const { id, name, url, description, active, createdAt } = webhook
  const [question, setQuestion] = useState<Question>(null)
  const close = (): void => setQuestion(null)
  const activate = async (isOn: boolean): Promise<void> => {
    try {
      await call(updateChannelWebhook, { path: { webhookId: id }, body: { active: isOn } })
    } finally {
      // After a refusal too: the page shows what holds now.
      await onChanged()
    }
  }
  const items = [
    { icon: 'edit' as const, text: text.edit, onSelect: () => setQuestion('edit') },
    { icon: 'webhooks' as const, text: text.test, onSelect: () => setQuestion('test') },
    { icon: 'refresh' as const, text: common.renew, onSelect: () => setQuestion('renew') },
    { icon: 'trash' as const, text: common.delete, isDanger: true, onSelect: () => setQuestion('delete') },
  ]
  return (
    <Card title={name} aside={canChange() && <Menu label={words.parts.moreFor(name)} items={items} />}>
      {webhook.disabled && (
        <PausedNotice pause={webhook.disabled} note={text.pausedText} onResume={() => activate(true)} />
      )}
      <div class="cols half">
        <div class="form">
          <CopyField label={common.url} what={common.url} value={url} />
          {canChange() && <Secret webhook={webhook} isAsking={question === 'renew'} onAsked={close} />}
          <Pairs
            rows={[
              ...(description ? [[text.description, description] as const] : []),
              [words.channels.made, <Time at={createdAt} isWhole />],
            ]}
          />
        </div>
        <div class="form gap-s">
          <Toggle
            label={text.active}
            note={text.activeNote}
            isOn={active}
            isDisabled={!canChange()}
            onChange={(isOn) => orToast(activate(isOn))}
          />
          <Events webhook={webhook} />
        </div>
      </div>
      {question === 'edit' && <ChannelWebhookForm webhook={webhook} onSaved={() => void onChanged()} onClose={close} />}
      {question === 'test' && <TestDialog webhook={webhook} onSent={onSent} onClose={close} />}
      {question === 'delete' && <Delete webhook={webhook} onDeleted={onChanged} onClose={close} />}
    </Card>
  )
}

function Events({ webhook: { events } }: { readonly webhook: ChannelWebhook }) {
  const isAll = events.includes(ALL_EVENTS)
  return (
    <div class="field">
      <span class="label">{common.receives}</span>
      {isAll ? (
        <p>{text.allEvents}</p>
      ) : (
        <div class="tags">
          {events.map((name) => (
            <code key={name} class="tag">
              {name}
            </code>
          ))}
        </div>
      )}
    </div>
  )
}

interface SecretProps {
  readonly webhook: ChannelWebhook
  readonly isAsking: boolean
  readonly onAsked: () => void
}

/** The page gets the secret when it is asked for, and forgets it when it is hidden or renewed. */
function Secret({ webhook: { id }, isAsking, onAsked }: SecretProps) {
  const [round, setRound] = useState(0)
  const path = { webhookId: id }
  const renew = async (): Promise<void> => {
    await call(rotateChannelWebhookSecret, { path })
    setRound(round + 1)
    toast(text.secretRenewed)
  }
  return (
    <>
      <AskedSecret
        key={round}
        label={common.secret}
        ask={() => call(readChannelWebhookSecret, { path }).then(({ secret }) => secret)}
      />
      {isAsking && (
        <Confirm title={common.renewTitle} verb={common.renew} onConfirm={renew} onClose={onAsked}>
          {common.renewText}
        </Confirm>
      )}
    </>
  )
}

interface DeleteProps {
  readonly webhook: ChannelWebhook
  readonly onDeleted: () => Promise<void>
  readonly onClose: () => void
}

function Delete({ webhook: { id, name, active }, onDeleted, onClose }: DeleteProps) {
  const path = { webhookId: id }
  const remove = async (): Promise<void> => {
    const then = goLater()
    // Sluice refuses to delete an active one.
    if (active) await call(updateChannelWebhook, { path, body: { active: false } })
    await call(deleteChannelWebhook, { path })
    toast(text.deleted(name))
    then('/webhooks/channels')
    void onDeleted()
  }
  return (
    <Confirm title={text.deleteTitle(name)} verb={common.delete} onConfirm={remove} onClose={onClose}>
      {active ? text.deleteActiveText : text.deleteText}
    </Confirm>
  )
}
