import { useState } from 'preact/hooks'
import { readLogAdmissions, updateLogAdmissions } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { accountEdits } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { count } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { settingsWords } from '../../words/settingsWords.ts'

const text = settingsWords.admissions

/** Whether admissions are recorded, and the switch for it. A change can be undone. */
export function Admissions() {
  const { data, reload, set } = useLoad((signal) => call(readLogAdmissions, {}, { signal }), [])
  const [isBusy, setBusy] = useState(false)
  useFollow(accountEdits, reload)
  if (!data) return null
  const { isEnabled, rate, rowsPerMinute } = data
  const record = async (next: boolean): Promise<void> => {
    setBusy(true)
    try {
      set(await call(updateLogAdmissions, { body: { isEnabled: next } }))
      toast(next ? text.isOn : text.isOff, () => void orToast(record(!next)))
    } finally {
      setBusy(false)
    }
  }
  // The configuration has all of them recorded: there is nothing to switch on.
  const hasAll = rate >= 1 && !isEnabled
  return (
    <div class="tools">
      <p class="note">
        {isEnabled || hasAll
          ? text.kept(count(rowsPerMinute))
          : rate > 0
            ? text.inPart(count(rate * 100))
            : text.notKept}
      </p>
      {canChange() && !hasAll && (
        <Button isBusy={isBusy} onClick={() => void orToast(record(!isEnabled))}>
          {isEnabled ? text.recordNoMore : text.record}
        </Button>
      )}
    </div>
  )
}
