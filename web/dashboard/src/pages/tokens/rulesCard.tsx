import { useEffect, useRef } from 'preact/hooks'
import { useLoad } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { useDraft } from '../../parts/draft.ts'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import {
  countWrong,
  type FieldsProps,
  LabelField,
  PlaceFields,
  SecureSwitch,
  StreamFields,
  SwitchFields,
} from './fields.tsx'
import { clearBoundAddresses, listBoundAddresses, type TokenRecord, updateToken } from './operations.ts'
import { changesBody, formOf, isGeneral, type TokenKind } from './tokenForm.ts'
import { inWords } from './wording.ts'

const text = words.tokens.form

interface RulesProps {
  readonly kind: TokenKind
  readonly token: TokenRecord
  readonly onSaved: (token: TokenRecord) => void
  /** The rule that a link leads to. */
  readonly rule: string | null
}

/** What a token may do: a form, or for viewers of the dashboard a sentence. */
export function RulesCard(props: RulesProps) {
  return canChange() ? <RulesForm {...props} /> : <Rules {...props} />
}

function RulesForm({ kind, token, onSaved, rule }: RulesProps) {
  const root = useRef<HTMLFormElement>(null)
  useEffect(() => showRule(root.current, rule), [rule])
  const { before, form, setForm, onSaved: onFormSaved } = useDraft(formOf(token))
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const body = changesBody(kind, before, form)
    if (Object.keys(body).length === 0) {
      toast(text.nothingChanged)
      return
    }
    const saved = await updateToken(kind, token.id, body)
    onFormSaved(form, formOf(saved))
    onSaved(saved)
    toast(text.saved(saved.label))
  })
  const props: FieldsProps = { kind, form, errors: fields, onForm: setForm }
  const wrong = countWrong(form)
  return (
    <form ref={root} onSubmit={onSubmit}>
      <Card
        title={words.tokens.page.rules}
        foot={
          <>
            <Button look="primary" type="submit" isBusy={isBusy}>
              {text.save}
            </Button>
            <Button look="quiet" onClick={() => setForm(before)}>
              {text.discard}
            </Button>
            {wrong > 0 && <span class="note end">{text.toCorrect(wrong)}</span>}
          </>
        }
      >
        <div class="form">
          {error && isGeneral(fields) && <Notice kind="error">{error.message}</Notice>}
          <div class="pair">
            <LabelField {...props} />
            <Fixed kind={kind} token={token} />
          </div>
          <StreamFields {...props} />
          <PlaceFields {...props} bound={token.bindIpsOnUsage ? <Bound kind={kind} token={token} /> : undefined} />
          {kind === 'publish' && <SecureSwitch {...props} />}
          <SwitchFields {...props} />
        </div>
      </Card>
    </form>
  )
}

/** Brings a rule into view and puts the focus into its field. */
function showRule(root: HTMLElement | null, rule: string | null): void {
  const found = [...(root?.querySelectorAll<HTMLElement>('[data-rule]') ?? [])].find(
    (one) => one.dataset['rule'] === rule,
  )
  if (!found) return
  found.scrollIntoView({ block: 'center' })
  // The buttons of a list stand before its input.
  found.querySelector<HTMLElement>('input')?.focus({ preventScroll: true })
}

/** What was set when the token was made, and cannot be changed. */
function Fixed({ kind, token }: { readonly kind: TokenKind; readonly token: TokenRecord }) {
  const { expiresOn, tracking } = token
  return (
    <div class="stack gap-s" data-rule="expiry">
      <div class="field">
        <span class="label">{text.expires}</span>
        <p class="num">
          {expiresOn === undefined ? words.parts.never : <Time at={expiresOn} isWhole />}{' '}
          <span class="faint">· {text.setWhenMade}</span>
        </p>
      </div>
      {kind === 'subscribe' && (
        <div class="field">
          <span class="label">{text.trackingId}</span>
          <p>
            {tracking?.trackingId ? <code>{tracking.trackingId}</code> : <span class="faint">{text.noTracking}</span>}
          </p>
        </div>
      )}
    </div>
  )
}

/** The addresses that a token is bound to, with a way to forget them. */
function Bound({ kind, token }: { readonly kind: TokenKind; readonly token: TokenRecord }) {
  const bound = useLoad((signal) => listBoundAddresses(kind, token.id, signal), [token])
  const { isBusy, error, onSubmit } = useSubmit(async () => {
    await clearBoundAddresses(kind, token.id)
    toast(text.forgotten)
    bound.reload()
  })
  if (bound.data === undefined) return <>{text.bindHint}</>
  if (bound.data.length === 0) return <>{text.noneBound}</>
  return (
    <>
      {text.bound(bound.data.map(({ address }) => address).join(', '))}{' '}
      {canChange() && (
        <Button size="small" isBusy={isBusy} onClick={onSubmit}>
          {text.forget}
        </Button>
      )}
      {error && ` ${error.message}`}
    </>
  )
}

function Rules({ kind, token }: RulesProps) {
  const { expiresOn, tracking } = token
  const form = formOf(token)
  return (
    <Card title={words.tokens.page.rules}>
      <p>
        {inWords(kind, form, null).map((part, index) => (part.isBold ? <b key={index}>{part.text}</b> : part.text))}
      </p>
      <Pairs
        rows={[
          [text.expires, expiresOn === undefined ? words.parts.never : <Time at={expiresOn} isWhole />],
          ...(tracking?.trackingId ? [[text.trackingId, <code>{tracking.trackingId}</code>] as const] : []),
          ...(token.bindIpsOnUsage ? [[text.bind, <Bound kind={kind} token={token} />] as const] : []),
        ]}
      />
    </Card>
  )
}
