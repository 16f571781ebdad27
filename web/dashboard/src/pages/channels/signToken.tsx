import { useState } from 'preact/hooks'
import { type Answer, type Distribution, type Key, signViewerToken } from '#api/channels.ts'
import { distributionAddress, ownAddresses } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { ChipsField, Segment, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Pairs } from '../../parts/page.tsx'
import { Time } from '../../parts/values.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { checkCountry, checkWhole } from '../tokens/checks.ts'
import { errorOf } from '../tokens/tokenForm.ts'

const text = channelWords.viewerKeys.sign
const HOURS_MOST = 8760
const HOUR_SECONDS = 3600

type Device = 'any' | 'desktop' | 'mobile' | 'tv'

interface SignForm {
  readonly hours: string
  readonly trackingId: string
  readonly countries: readonly string[]
  readonly device: Device
  /** Local time, as the field writes it; empty: at once. */
  readonly from: string
}

const EMPTY: SignForm = { hours: '1', trackingId: '', countries: [], device: 'any', from: '' }

const bodyOf = ({ hours, trackingId, countries, device, from }: SignForm) => ({
  expiresInSeconds: Number(hours) * HOUR_SECONDS,
  ...(trackingId === '' ? {} : { trackingId }),
  ...(countries.length === 0 ? {} : { countries: countries.map((code) => code.toUpperCase()) }),
  ...(device === 'any' ? {} : { devices: [device] }),
  ...(from === '' ? {} : { notBefore: new Date(from).toISOString() }),
})

interface SignTokenProps {
  readonly distribution: Distribution
  readonly keyRecord: Key
  readonly onClose: () => void
}

/** Signs a token for viewers on the server, which has the key. */
export function SignToken({ distribution, keyRecord, onClose }: SignTokenProps) {
  const [form, setForm] = useState(EMPTY)
  const [signed, setSigned] = useState<Answer<typeof signViewerToken> | null>(null)
  const path = { distributionId: distribution.id, keyId: keyRecord.id }
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    setSigned(await call(signViewerToken, { path, body: bodyOf(form) }))
  })
  if (signed)
    return (
      <SignedToken address={distributionAddress(ownAddresses(), distribution.id)} signed={signed} onClose={onClose} />
    )
  return (
    <Dialog
      title={text.title(distribution.name)}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.verb} isBusy={isBusy} onClose={onClose} />}
    >
      <p>{text.lead}</p>
      {error && Object.keys(fields).length === 0 && <Notice kind="error">{error.message}</Notice>}
      <SignFields form={form} errors={fields} onForm={setForm} />
    </Dialog>
  )
}

function SignFields(props: {
  readonly form: SignForm
  readonly errors: Readonly<Record<string, string>>
  readonly onForm: (form: SignForm) => void
}) {
  const { form, errors, onForm } = props
  return (
    <>
      <TextField
        label={text.hours}
        required
        inputMode="numeric"
        problem={checkWhole(form.hours, 1, HOURS_MOST)}
        error={errorOf(errors, 'expiresInSeconds')}
        value={form.hours}
        onValue={(hours) => onForm({ ...form, hours })}
      />
      <TextField
        label={text.trackingId}
        isOptional
        hint={text.trackingIdHint}
        maxLength={128}
        autocomplete="off"
        error={errorOf(errors, 'trackingId')}
        value={form.trackingId}
        onValue={(trackingId) => onForm({ ...form, trackingId })}
      />
      <details>
        <summary>{text.narrow}</summary>
        <div class="form in-details">
          <ChipsField
            label={channelWords.channel.countries}
            isOptional
            check={checkCountry}
            error={errorOf(errors, 'countries', form.countries)}
            values={form.countries}
            onValues={(countries) => onForm({ ...form, countries })}
          />
          <Segment
            label={text.device}
            choices={(['any', 'desktop', 'mobile', 'tv'] as const).map((one) => [one, text.devices[one]] as const)}
            value={form.device}
            onChange={(device) => onForm({ ...form, device })}
          />
          <TextField
            label={text.from}
            isOptional
            type="datetime-local"
            error={errorOf(errors, 'notBefore')}
            value={form.from}
            onValue={(from) => onForm({ ...form, from })}
          />
        </div>
      </details>
    </>
  )
}

function SignedToken(props: {
  readonly address: string
  readonly signed: Answer<typeof signViewerToken>
  readonly onClose: () => void
}) {
  const { address, signed, onClose } = props
  return (
    <Dialog title={text.result} onClose={onClose} foot={<Button onClick={onClose}>{words.recordings.close}</Button>}>
      <p>{text.resultText}</p>
      <CopyField isSecret label={text.address} what={text.address} value={`${address}?token=${signed.token}`} />
      <CopyField isSecret label={text.token} what={text.token} value={signed.token} />
      <Pairs rows={[[words.tokens.sign.expires, <Time at={signed.expiresAt} isWhole />]]} />
    </Dialog>
  )
}
