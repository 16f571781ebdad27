import { useState } from 'preact/hooks'
import { createPublishToken, createSubscribeToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { ownAddresses, watchAddress } from '../../addresses.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { keep, type Progress } from './progress.ts'
import { Solo } from './solo.tsx'

const text = words.firstRun

/** Step 2: names a stream and makes its tokens. */
export function StreamStep({ at }: { readonly at: Progress }) {
  const [streamName, setStreamName] = useState(at.streamName || 'show')
  const [isOpen, setOpen] = useState(true)
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const made = await makeTokens(streamName.trim(), isOpen)
    keep({ ...at, step: 3, streamName: streamName.trim(), ...made })
  })
  const nameError = Object.entries(fields).find(([field]) => field.startsWith('streams'))?.[1]
  return (
    <Solo step={2} title={text.nameTitle} lead={text.nameLead}>
      <form class="form narrow" onSubmit={onSubmit}>
        {error && !nameError && <Notice kind="error">{error.message}</Notice>}
        <TextField
          label={text.streamName}
          hint={<Becomes accountId={at.accountId} streamName={streamName.trim()} />}
          required
          missing={words.problems.streamName}
          maxLength={128}
          error={nameError}
          value={streamName}
          onValue={setStreamName}
        />
        <WhoMayWatch isOpen={isOpen} onOpen={setOpen} />
        <div class="actions">
          <Button look="primary" size="big" type="submit" isBusy={isBusy}>
            {text.make}
          </Button>
          <LinkButton look="quiet" size="big" href={linkTo('/')}>
            {text.skip}
          </LinkButton>
        </div>
      </form>
    </Solo>
  )
}

const Becomes = ({ accountId, streamName }: { readonly accountId: string; readonly streamName: string }) => (
  <>
    {text.becomes} <code>{watchAddress(ownAddresses(), accountId, streamName).replace(/^https?:\/\//, '')}</code>
  </>
)

async function makeTokens(streamName: string, isOpen: boolean) {
  const streams = [{ streamName }]
  const publish = await call(createPublishToken, {
    body: { label: text.publishLabel(streamName), streams, subscribeRequiresAuth: !isOpen },
  })
  const subscribe = isOpen
    ? null
    : await call(createSubscribeToken, { body: { label: text.subscribeLabel(streamName), streams } })
  return { publishTokenId: publish.id, subscribeTokenId: subscribe?.id ?? null }
}

function WhoMayWatch({ isOpen, onOpen }: { readonly isOpen: boolean; readonly onOpen: (isOpen: boolean) => void }) {
  const choices = [
    [true, text.openChoice, text.openNote],
    [false, text.tokenChoice, text.tokenNote],
  ] as const
  return (
    <fieldset class="form gap-s">
      <legend class="label">{text.whoWatches}</legend>
      {choices.map(([value, title, note]) => (
        <label key={title} class="check">
          <input type="radio" name="who" checked={isOpen === value} onChange={() => onOpen(value)} />
          <b>{title}</b>
          <small>{note}</small>
        </label>
      ))}
    </fieldset>
  )
}
