import type { ComponentChildren } from 'preact'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { accountEdits } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { settingsWords } from '../../words/settingsWords.ts'

const text = settingsWords.defaults

type Save<T> = (next: T) => Promise<void>

interface DefaultsCardProps<T> {
  readonly title: string
  /** What it does, and for whom. */
  readonly about: ComponentChildren
  readonly read: (signal: AbortSignal) => Promise<T>
  /** Returns what holds then. */
  readonly write: (next: T) => Promise<T>
  /** For those who may not change it. */
  readonly sentence: (value: T) => string
  readonly form: (value: T, save: Save<T>) => ComponentChildren
}

/** A part of what the account says. A change can be undone. */
export function DefaultsCard<T>({ title, about, read, write, sentence, form }: DefaultsCardProps<T>) {
  const { data, error, reload, set } = useLoad(read, [])
  useFollow(accountEdits, reload)
  const save = async (next: T): Promise<void> => {
    set(await write(next))
    toast(text.saved, data === undefined ? undefined : () => void orToast(save(data)))
  }
  return (
    <Card title={title}>
      <p class="note">{about}</p>
      {error && <LoadError error={error} onRetry={reload} />}
      {data === undefined && !error && <Bones rows={1} />}
      {data !== undefined && (
        // A form begins again with what is saved.
        <div key={JSON.stringify(data)}>{canChange() ? form(data, save) : <p>{sentence(data)}</p>}</div>
      )}
    </Card>
  )
}

interface SaveFormProps {
  /** What it is about. */
  readonly of: string
  /** The form is not sent while something is wrong. */
  readonly isWrong: boolean
  readonly onSave: () => Promise<void>
  /** Draws the fields, with what the server says is wrong by path in the body. */
  readonly children: (errors: Readonly<Record<string, string>>) => ComponentChildren
}

/** Fields with a button below them. */
export function SaveForm({ of, isWrong, onSave, children }: SaveFormProps) {
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    if (!isWrong) await onSave()
  })
  return (
    <form class="stack" onSubmit={onSubmit}>
      {children(fields)}
      {error && Object.keys(fields).length === 0 && <Notice kind="error">{error.message}</Notice>}
      <div>
        <Button type="submit" of={of} isBusy={isBusy}>
          {text.save}
        </Button>
      </div>
    </form>
  )
}
