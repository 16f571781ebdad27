import { Button } from '../../parts/button.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

const text = words.webhooks

interface PausedProps {
  readonly pause: { readonly until: string; readonly reason: string }
  /** What happens to events meanwhile. */
  readonly note: string
  readonly onResume: () => Promise<void>
}

/** Says why a webhook is paused and until when, and ends the pause. */
export function PausedNotice({ pause: { until, reason }, note, onResume }: PausedProps) {
  const { isBusy, error, onSubmit } = useSubmit(onResume)
  return (
    <Notice kind="error">
      <b>{text.paused}:</b> {reason}. {text.pausedUntil} <Time at={until} />. {note}{' '}
      {canChange() && (
        <Button size="small" isBusy={isBusy} onClick={() => onSubmit()}>
          {text.resume}
        </Button>
      )}
      {error && ` ${error.message}`}
    </Notice>
  )
}
