import { switchRecording } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import type { StreamOnAir } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'

const text = words.stream

/** Begins or ends a recording during the broadcast. */
export function RecordButton({ stream: { streamName, recorded } }: { readonly stream: StreamOnAir }) {
  const change = async (): Promise<void> => {
    await call(switchRecording, { path: { streamName }, body: { record: !recorded } })
    toast(recorded ? text.recordEnds : text.recordBegins)
  }
  return (
    <Button icon={recorded ? 'pause' : 'recordings'} onClick={() => orToast(change())}>
      {recorded ? text.recordEnd : text.record}
    </Button>
  )
}
