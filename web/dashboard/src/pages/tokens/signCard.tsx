import { useId, useState } from 'preact/hooks'
import { type Answer, revokeSelfSignedTokens, signSubscribeToken } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { ChipsField, NumberField, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { words } from '../../words/words.ts'
import { checkAddress, checkSite, checkWhole } from './checks.ts'
import type { TokenRecord } from './operations.ts'
import { firstName } from './streamEntry.ts'
import { errorOf } from './tokenForm.ts'

const text = words.tokens.sign
const SECONDS_MOST = 2_147_483_647
const SECONDS = '300'

type Signed = Answer<typeof signSubscribeToken>

interface SignForm {
  readonly streamName: string
  readonly seconds: string
  readonly jti: string
  readonly origins: readonly string[]
  readonly addresses: readonly string[]
}

const bodyOf = ({ streamName, seconds, jti, origins, addresses }: SignForm) => ({
  streamName,
  ...(seconds === '' ? {} : { expiresInSeconds: Number(seconds) }),
  ...(jti === '' ? {} : { jti }),
  ...(origins.length === 0 ? {} : { allowedOrigins: origins }),
  ...(addresses.length === 0 ? {} : { allowedIpAddresses: addresses }),
})

/** Signs short tokens for single viewers on the server, which holds the value that signs; and revokes them. */
export function SignCard({ token }: { readonly token: TokenRecord }) {
  const [form, setForm] = useState<SignForm>({
    streamName: firstName(token.streams) ?? '',
    seconds: SECONDS,
    jti: '',
    origins: [],
    addresses: [],
  })
  const [signed, setSigned] = useState<Signed | null>(null)
  const path = { tokenId: String(token.id) }
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    setSigned(await call(signSubscribeToken, { path, body: bodyOf(form) }))
  })
  const id = useId()
  return (
    <Card
      title={text.title}
      foot={
        <Button type="submit" form={id} isBusy={isBusy}>
          {text.sign}
        </Button>
      }
    >
      <p class="note">{text.lead}</p>
      {error && !isOfField(fields) && <Notice kind="error">{error.message}</Notice>}
      <form class="form" id={id} onSubmit={onSubmit}>
        <SignFields form={form} errors={fields} onForm={setForm} />
      </form>
      {signed && <SignedToken key={signed.jti} signed={signed} />}
      <Revoke token={token} jti={signed?.jti} />
    </Card>
  )
}

const FIELDS = ['streamName', 'expiresInSeconds', 'jti', 'allowedOrigins', 'allowedIpAddresses']
const isOfField = (errors: Readonly<Record<string, string>>): boolean =>
  FIELDS.some((field) => errorOf(errors, field) !== undefined)

interface SignFieldsProps {
  readonly form: SignForm
  readonly errors: Readonly<Record<string, string>>
  readonly onForm: (form: SignForm) => void
}

function SignFields(props: SignFieldsProps) {
  const { form, errors, onForm } = props
  return (
    <>
      <div class="pair">
        <TextField
          label={text.stream}
          required
          missing={words.problems.streamName}
          maxLength={128}
          autocomplete="off"
          error={errorOf(errors, 'streamName')}
          value={form.streamName}
          onValue={(streamName) => onForm({ ...form, streamName })}
        />
        <NumberField
          label={text.seconds}
          problem={checkWhole(form.seconds, 1, SECONDS_MOST)}
          error={errorOf(errors, 'expiresInSeconds')}
          unit={text.secondsUnit}
          value={form.seconds}
          onValue={(seconds) => onForm({ ...form, seconds })}
        />
      </div>
      <NarrowFields {...props} />
    </>
  )
}

/** What narrows a signed token further than its parent. */
const NarrowFields = ({ form, errors, onForm }: SignFieldsProps) => (
  <details>
    <summary>{text.narrow}</summary>
    <div class="form in-details">
      <ChipsField
        label={text.origin}
        isOptional
        check={checkSite}
        error={errorOf(errors, 'allowedOrigins', form.origins)}
        values={form.origins}
        onValues={(origins) => onForm({ ...form, origins })}
      />
      <ChipsField
        label={text.address}
        isOptional
        check={checkAddress}
        error={errorOf(errors, 'allowedIpAddresses', form.addresses)}
        values={form.addresses}
        onValues={(addresses) => onForm({ ...form, addresses })}
      />
      <TextField
        label={text.jti}
        isOptional
        hint={text.jtiHint}
        maxLength={128}
        autocomplete="off"
        error={errorOf(errors, 'jti')}
        value={form.jti}
        onValue={(jti) => onForm({ ...form, jti })}
      />
    </div>
  </details>
)

function SignedToken({ signed }: { readonly signed: Signed }) {
  return (
    <div class="stack gap-s" role="status">
      <CopyField isSecret label={text.result} what={text.result} value={signed.token} />
      <Pairs
        rows={[
          [text.jti, <code>{signed.jti}</code>],
          [text.expires, <Time at={signed.expiresOn} isWhole />],
        ]}
      />
    </div>
  )
}

/** Refuses signed tokens before they expire: one by its id, or all that exist. */
function Revoke({ token, jti: latest = '' }: { readonly token: TokenRecord; readonly jti?: string | undefined }) {
  const [jti, setJti] = useState<string | null>(null)
  const [isAsking, setAsking] = useState(false)
  const path = { tokenId: String(token.id) }
  const typed = jti ?? latest
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    await call(revokeSelfSignedTokens, { path, body: { jti: typed } })
    toast(text.revoked)
  })
  const revokeAll = async (): Promise<void> => {
    await call(revokeSelfSignedTokens, { path, body: { issuedBefore: 'now' } })
    toast(text.revoked)
  }
  return (
    <details>
      <summary>{text.revoke}</summary>
      <form class="form in-details" onSubmit={onSubmit}>
        <TextField
          label={text.revokeJti}
          maxLength={128}
          autocomplete="off"
          error={error?.message}
          value={typed}
          onValue={setJti}
        />
        <div class="actions">
          <Button type="submit" isBusy={isBusy} disabled={typed === ''}>
            {text.revokeOne}
          </Button>
          <Button look="danger" onClick={() => setAsking(true)}>
            {text.revokeAll}
          </Button>
        </div>
      </form>
      {isAsking && (
        <Confirm
          title={text.revokeAllTitle}
          verb={text.revokeAll}
          onConfirm={revokeAll}
          onClose={() => setAsking(false)}
        >
          {text.revokeAllText}
        </Confirm>
      )}
    </details>
  )
}
