import { useState } from 'preact/hooks'
import { type ChannelWebhook, createChannelWebhook, updateChannelWebhook } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import {
  ALL_EVENTS,
  type ChosenEvent,
  EVENTS,
  EVERY_EVENT,
  type EventName,
  GROUPS,
  withEvent,
} from './channelEvents.ts'

const text = channelWords.channelWebhooks
const FIRST: readonly EventName[] = ['engine.playing', 'engine.stopped', 'engine.error']

interface Draft {
  readonly name: string
  readonly url: string
  readonly description: string
  readonly isAll: boolean
  readonly events: readonly EventName[]
}

const draftOf = (webhook: ChannelWebhook | null): Draft => ({
  name: webhook?.name ?? '',
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  isAll: webhook?.events.includes(ALL_EVENTS) ?? false,
  events: webhook ? EVERY_EVENT.filter((name) => webhook.events.includes(name)) : FIRST,
})

const bodyOf = ({ name, url, description, isAll, events }: Draft) => {
  const chosen: readonly ChosenEvent[] = isAll ? [ALL_EVENTS] : events
  return { name, url, description: description || null, events: chosen }
}

interface FormProps {
  /** The one to edit; null: a new one. */
  readonly webhook: ChannelWebhook | null
  readonly onSaved: (id: string) => void
  readonly onClose: () => void
}

/** Asks for the name, the URL and the events of a webhook of channels. A new one is active at once. */
export function ChannelWebhookForm({ webhook, onSaved, onClose }: FormProps) {
  const [draft, setDraft] = useState(draftOf(webhook))
  const change = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const body = bodyOf(draft)
    const saved = webhook
      ? await call(updateChannelWebhook, { path: { webhookId: webhook.id }, body })
      : await call(createChannelWebhook, { body: { ...body, active: true } })
    onClose()
    onSaved(saved.id)
  })
  const verb = webhook ? words.parts.save : words.webhooks.create
  return (
    <Dialog
      title={webhook ? text.editTitle(webhook.name) : verb}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={verb} isBusy={isBusy} onClose={onClose} />}
    >
      {error && Object.keys(fields).every((field) => !FIELDS.includes(field)) && (
        <Notice kind="error">{error.message}</Notice>
      )}
      <TextField
        label={text.name}
        required
        missing={words.problems.name}
        maxLength={128}
        error={fields['name']}
        value={draft.name}
        onValue={(name) => change({ name })}
      />
      <TextField
        label={words.webhooks.url}
        type="url"
        required
        missing={words.problems.url}
        hint={words.webhooks.urlHint}
        error={fields['url']}
        value={draft.url}
        onValue={(url) => change({ url })}
      />
      <TextField
        label={text.description}
        isOptional
        maxLength={1024}
        error={fields['description']}
        value={draft.description}
        onValue={(description) => change({ description })}
      />
      <Choice draft={draft} change={change} />
    </Dialog>
  )
}

const FIELDS = ['name', 'url', 'description']

interface ChoiceProps {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}

function Choice({ draft: { isAll, events }, change }: ChoiceProps) {
  return (
    <fieldset class="form gap-s">
      <legend class="label">{words.webhooks.receives}</legend>
      <Toggle
        label={text.allEvents}
        note={text.allEventsNote}
        isOn={isAll}
        onChange={(isOn) => change({ isAll: isOn })}
      />
      {!isAll &&
        GROUPS.map((group) => (
          <details key={group}>
            <summary>
              {text.groups[group]}{' '}
              <span class="faint">
                {text.chosenOf(EVENTS[group].filter((name) => events.includes(name)).length, EVENTS[group].length)}
              </span>
            </summary>
            <div class="form gap-s in-details">
              {EVENTS[group].map((name) => (
                <Toggle
                  key={name}
                  looks="check"
                  label={<code>{name}</code>}
                  isOn={events.includes(name)}
                  onChange={(isOn) => change({ events: withEvent(events, name, isOn) })}
                />
              ))}
            </div>
          </details>
        ))}
    </fieldset>
  )
}
