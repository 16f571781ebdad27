import type { ComponentChildren } from 'preact'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { accountEdits } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { useDraft } from '../../parts/draft.ts'
import { useSubmit } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { settingsWords } from '../../words/settingsWords.ts'

const text = settingsWords.defaults

interface FormProps<T, F extends object> {
  /** What it is about. */
  readonly title: string
  /** What is typed for a value, and the value of what is typed. */
  readonly formOf: (value: T) => F
  readonly valueOf: (form: F) => T
  /** The form is not sent while something is wrong. */
  readonly isWrong?: (form: F) => boolean
  /** Draws the fields, with what the server says is wrong by path in the body. */
  readonly fields: (
    form: F,
    onChange: (change: Partial<F>) => void,
    errors: Readonly<Record<string, string>>,
  ) => ComponentChildren
}

interface DefaultsCardProps<T, F extends object> extends FormProps<T, F> {
  /** What it does, and for whom. */
  readonly about: ComponentChildren
  readonly read: (signal: AbortSignal) => Promise<T>
  /** Returns what holds then. */
  readonly write: (next: T) => Promise<T>
  /** For those who may not change it. */
  readonly sentence: (value: T) => string
}

/** A part of what the account says. A change can be undone. */
export function DefaultsCard<T, F extends object>(props: DefaultsCardProps<T, F>) {
  const { title, about, read, write, sentence } = props
  const { data, error, reload, set } = useLoad(read, [])
  useFollow(accountEdits, reload)
  const save = async (next: T): Promise<T> => {
    const saved = await write(next)
    set(saved)
    toast(text.saved, data === undefined ? undefined : () => void orToast(save(data)))
    return saved
  }
  return (
    <Card title={title}>
      <p class="note">{about}</p>
      {error && <LoadError error={error} onRetry={reload} />}
      {data === undefined && !error && <Bones rows={1} />}
      {data !== undefined &&
        (canChange() ? <SaveForm {...props} value={data} onSave={save} /> : <p>{sentence(data)}</p>)}
    </Card>
  )
}

interface SaveFormProps<T, F extends object> extends FormProps<T, F> {
  readonly value: T
  readonly onSave: (next: T) => Promise<T>
}

/** Fields with a button below them. */
function SaveForm<T, F extends object>(props: SaveFormProps<T, F>) {
  const { title, formOf, valueOf, isWrong = () => false, fields, value, onSave } = props
  const { form, setForm, onSaved } = useDraft(formOf(value))
  const {
    isBusy,
    error,
    fields: errors,
    onSubmit,
  } = useSubmit(async () => {
    if (!isWrong(form)) onSaved(form, formOf(await onSave(valueOf(form))))
  })
  return (
    <form class="stack" onSubmit={onSubmit}>
      {fields(form, (change) => setForm({ ...form, ...change }), errors)}
      {error && Object.keys(errors).length === 0 && <Notice kind="error">{error.message}</Notice>}
      <div>
        <Button type="submit" of={title} isBusy={isBusy}>
          {text.save}
        </Button>
      </div>
    </form>
  )
}
