import { useState } from 'preact/hooks'
import { Button, LinkButton } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/copy.tsx'
import { Segment, TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { goLater, linkTo, type PageArgs } from '../../router.ts'
import { words } from '../../words/words.ts'
import {
  countWrong,
  type FieldsProps,
  LabelField,
  PlaceFields,
  SecureSwitch,
  StreamFields,
  SwitchFields,
  TrackingField,
} from './fields.tsx'
import { createToken } from './operations.ts'
import {
  emptyForm,
  errorOf,
  type ExpiryChoice,
  expirySeconds,
  isGeneral,
  newTokenBody,
  type TokenForm,
  type TokenKind,
} from './tokenForm.ts'
import { createCommand, inWords } from './wording.ts'
import './tokens.css'

const text = words.tokens.form
const CHOICES: readonly ExpiryChoice[] = ['never', 'hour', 'day', 'week', 'date']
const whole = new Intl.DateTimeFormat(words.locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

export const NewPublishTokenPage = ({ query }: PageArgs) => <NewTokenPage kind="publish" query={query} />
export const NewSubscribeTokenPage = ({ query }: PageArgs) => <NewTokenPage kind="subscribe" query={query} />

/** A link may name the stream that the token is for. */
function startOf(query: URLSearchParams): TokenForm {
  const stream = query.get('stream')
  return stream ? { ...emptyForm, streams: [{ streamName: stream, isRegex: false }] } : emptyForm
}

function NewTokenPage({ kind, query }: { readonly kind: TokenKind; readonly query: URLSearchParams }) {
  const [form, setForm] = useState(() => startOf(query))
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const then = goLater()
    const made = await createToken(kind, newTokenBody(kind, form, Date.now()))
    then(`/tokens/${kind}/${made.id}`, {}, true)
  })
  const props: FieldsProps = { kind, form, errors: fields, onForm: setForm }
  const wrong = countWrong(form)
  return (
    <Page
      title={words.tokens.kinds[kind].create}
      sub={words.tokens.newPage.sub}
      crumb={{ text: words.tokens.kinds[kind].list, href: linkTo(`/tokens/${kind}`) }}
    >
      <div class="cols form-side">
        <form class="card" onSubmit={onSubmit} aria-label={words.tokens.kinds[kind].create}>
          <div class="pad form">
            {error && isGeneral(fields) && <Notice kind="error">{error.message}</Notice>}
            <LabelField {...props} hint={text.labelHint} />
            <StreamFields {...props} />
            <ExpiryField {...props} />
            {kind === 'publish' ? <SecureSwitch {...props} /> : <TrackingField {...props} />}
            <details>
              <summary>{text.narrow}</summary>
              <div class="form in-details">
                <PlaceFields {...props} />
              </div>
            </details>
            <details>
              <summary>{text.more}</summary>
              <div class="form in-details">
                <SwitchFields {...props} />
              </div>
            </details>
          </div>
          <div class="card-foot">
            <Button look="primary" type="submit" isBusy={isBusy}>
              {text.create}
            </Button>
            <LinkButton look="quiet" href={linkTo(`/tokens/${kind}`)}>
              {words.parts.cancel}
            </LinkButton>
            {wrong > 0 && <span class="note end">{text.toCorrect(wrong)}</span>}
          </div>
        </form>
        <Aside kind={kind} form={form} />
      </div>
    </Page>
  )
}

/** When the form's token would expire, in the zone of the person; null: never. */
function expiryOf(form: TokenForm): string | null {
  const seconds = expirySeconds(form, Date.now())
  return seconds === undefined ? null : whole.format(Date.now() + seconds * 1000)
}

function ExpiryField(props: FieldsProps) {
  const { form, errors, onForm } = props
  const at = expiryOf(form)
  const isPast = (expirySeconds(form, Date.now()) ?? 1) < 1
  return (
    <>
      <fieldset class="field">
        <legend class="label">{text.expires}</legend>
        <Segment
          label={text.expires}
          choices={CHOICES.map((choice) => [choice, text.expiryChoices[choice]] as const)}
          value={form.expires}
          onChange={(expires) => onForm({ ...form, expires })}
        />
        <span class="hint">{at === null ? text.expiresNever : text.expiresOn(at)}</span>
      </fieldset>
      {form.expires === 'date' && (
        <TextField
          label={text.expiresAt}
          type="datetime-local"
          required
          problem={isPast ? text.expiresInPast : undefined}
          error={errorOf(errors, 'expires')}
          value={form.expiresAt}
          onValue={(expiresAt) => onForm({ ...form, expiresAt })}
        />
      )}
    </>
  )
}

function Aside({ kind, form }: { readonly kind: TokenKind; readonly form: TokenForm }) {
  return (
    <aside class="stack" aria-label={words.tokens.newPage.aside}>
      <section class="card pad stack gap-s">
        <h2>{words.tokens.inWords.title}</h2>
        <p>
          {inWords(kind, form, expiryOf(form)).map((part, index) =>
            part.isBold ? <b key={index}>{part.text}</b> : part.text,
          )}
        </p>
      </section>
      <section class="card pad stack gap-s">
        <h2>{words.tokens.newPage.sameByCommand}</h2>
        <CodeBlock what={words.tokens.newPage.command} code={createCommand(kind, form, Date.now())} />
      </section>
    </aside>
  )
}
