import { CopyField } from '../../parts/copy.tsx'
import { Notice } from '../../parts/notice.tsx'
import { words } from '../../words/words.ts'

/** A value that is shown once: Sluice keeps only its hash. */
export interface Fresh {
  readonly name: string
  readonly values: readonly (readonly [label: string, value: string])[]
}

export function FreshValue({ fresh }: { readonly fresh: Fresh }) {
  return (
    <div class="pad lined stack gap-s" role="status">
      <Notice kind="ok">{words.settings.shownOnce(fresh.name)}</Notice>
      {fresh.values.map(([label, value]) => (
        <CopyField key={label} label={label} what={label} value={value} />
      ))}
    </div>
  )
}
