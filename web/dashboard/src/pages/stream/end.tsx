import { stopStream } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import type { StreamOnAir } from '../../live.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { toast } from '../../parts/toast.tsx'
import { words } from '../../words/words.ts'

const text = words.stream

/** Asks before a broadcast is ended, and says how many viewers it takes along. */
export function EndStream({ stream, onClose }: { readonly stream: StreamOnAir; readonly onClose: () => void }) {
  const { streamName, streamId, viewers } = stream
  const end = async (): Promise<void> => {
    await call(stopStream, { body: { streamId } })
    toast(text.ended(streamName))
  }
  return (
    <Confirm title={text.endTitle(streamName)} verb={text.end} onConfirm={end} onClose={onClose}>
      {text.endText(viewers)}
    </Confirm>
  )
}
