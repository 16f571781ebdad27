import type { Answer, readWebhook } from '#api/tokens.ts'
import { Button } from '../../parts/button.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'

const text = words.webhooks

interface PausedProps {
  readonly pause: NonNullable<Answer<typeof readWebhook>['disabled']>
  /** What happens to events meanwhile. */
  readonly note: string
  readonly onResume: () => Promise<void>
}

/** Says why a webhook is paused and until when, and ends the pause. */
export function PausedNotice({ pause: { until, reason, sentences }, note, onResume }: PausedProps) {
  const { isBusy, error, onSubmit } = useSubmit(onResume)
  return (
    <Notice kind="error">
      <b>{text.paused}:</b> {noticeWords(reason, sentences)}. {text.pausedUntil} <Time at={until} />. {note}{' '}
      {canChange() && (
        <Button size="small" isBusy={isBusy} onClick={() => onSubmit()}>
          {text.resume}
        </Button>
      )}
      {error && ` ${error.message}`}
    </Notice>
  )
}
