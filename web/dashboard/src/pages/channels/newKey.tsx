import { useState } from 'preact/hooks'
import { createDistributionKey, deleteDistributionKey, type Key } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { Field, Segment, TextField, Toggle, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { channelWords } from '../../words/channelWords.ts'

const text = channelWords.viewerKeys
/** 256 bits, as many as HS256 uses. */
const SECRET_BYTES = 32
const KEY_MOST = 8192

type KeyKind = 'secret' | 'public'

/** A random secret in the letters of base64url. */
function freshSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

interface NewKeyProps {
  readonly path: { readonly distributionId: string }
  /** The key that the new one succeeds. */
  readonly replaced: Key | null
  readonly onMade: () => Promise<void>
  readonly onClose: () => void
}

/** Adds a key: a secret that this page draws, or the public key of a pair. */
export function NewKey({ path, replaced, onMade, onClose }: NewKeyProps) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<KeyKind>('secret')
  const [secret, setSecret] = useState(freshSecret)
  const [publicKey, setPublicKey] = useState('')
  const [endsOld, setEndsOld] = useState(false)
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(createDistributionKey, {
      path,
      body: { key: kind === 'secret' ? secret : publicKey, name: name || null },
    })
    void onMade()
    if (replaced && endsOld) await call(deleteDistributionKey, { path: { ...path, keyId: replaced.id } })
    await onMade()
    toast(text.added)
    onClose()
  })
  return (
    <Dialog
      title={replaced ? text.replaceTitle(replaced.name ?? replaced.id) : text.add}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.add} isBusy={isBusy} onClose={onClose} />}
    >
      <p>{replaced ? text.replaceText : text.addText}</p>
      {error && !fields['key'] && !fields['name'] && <Notice kind="error">{error.message}</Notice>}
      <TextField label={text.name} isOptional maxLength={128} error={fields['name']} value={name} onValue={setName} />
      <Segment
        label={text.kind}
        choices={[
          ['secret', text.kinds.secret],
          ['public', text.kinds.public],
        ]}
        value={kind}
        onChange={setKind}
      />
      {kind === 'secret' ? (
        <SecretInput value={secret} error={fields['key']} onValue={setSecret} />
      ) : (
        <PublicKeyInput value={publicKey} error={fields['key']} onValue={setPublicKey} />
      )}
      {replaced && <Toggle label={text.endOld} note={text.endOldNote} isOn={endsOld} onChange={setEndsOld} />}
    </Dialog>
  )
}

interface KeyInputProps {
  readonly value: string
  readonly error: string | undefined
  readonly onValue: (value: string) => void
}

function SecretInput({ value, error, onValue }: KeyInputProps) {
  return (
    <>
      <Field label={text.kinds.secret} hint={text.secretHint} error={error}>
        {(attributes) => (
          <input
            {...attributes}
            class="input mono"
            required
            autocomplete="off"
            spellcheck={false}
            maxLength={KEY_MOST}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
        )}
      </Field>
      <div class="actions">
        <CopyButton value={value} what={text.kinds.secret} />
      </div>
    </>
  )
}

function PublicKeyInput({ value, error, onValue }: KeyInputProps) {
  return (
    <Field label={text.kinds.public} hint={text.publicHint} error={error}>
      {(attributes) => (
        <textarea
          {...attributes}
          class="textarea mono"
          required
          rows={6}
          spellcheck={false}
          maxLength={KEY_MOST}
          placeholder="-----BEGIN PUBLIC KEY-----"
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      )}
    </Field>
  )
}
