import type { ComponentChildren } from 'preact'
import { Since } from '../parts/values.tsx'
import { State } from '../parts/state.tsx'
import { words } from '../words/words.ts'
import { air, isVideoOff, preview } from './broadcast.ts'
import { OwnVideo } from './video.tsx'
import '../parts/screen.css'

const text = words.goLive

/** The user's own video, with what lies over its corners. `isLive`: another program broadcasts the stream. */
export function Screen({
  children,
  isFlat = false,
  isLive = false,
}: {
  readonly children: ComponentChildren
  readonly isFlat?: boolean
  readonly isLive?: boolean
}) {
  const { source } = preview.value
  return (
    <div class={isFlat ? 'screen flat' : 'screen'}>
      {source ? (
        <OwnVideo media={source.media} label={text.ownVideo} />
      ) : (
        <div class="middle">
          <p>{isLive ? text.fromProgram : text.chooseVideo}</p>
        </div>
      )}
      {source && isVideoOff.value && (
        <div class="middle">
          <p>{text.videoIsOff}</p>
        </div>
      )}
      {children}
    </div>
  )
}

/** Whether this browser is on the air, and since when. `isLive`: the stream is, perhaps from another program. */
export function AirBadge({ isLive = false }: { readonly isLive?: boolean }) {
  const { state, sinceMs } = air.value
  if (state === 'connecting' || state === 'reconnecting')
    return <State kind="busy" look="dark" children={text[state]} />
  if (state === 'off' && !isLive) return <State kind="idle" look="dark" children={text.offAir} />
  return (
    <State kind="live" look="solid">
      {text.live} {sinceMs !== null && <Since since={new Date(sinceMs).toISOString()} />}
    </State>
  )
}
