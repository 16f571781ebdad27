import { useEffect, useRef, useState } from 'preact/hooks'
import { type ClientState, type SluiceError, WhepViewer } from '../../../../client/index.ts'
import { Button } from '../../parts/button.tsx'
import { State } from '../../parts/state.tsx'
import { words } from '../../words/words.ts'

const text = words.stream.player

interface Shown {
  readonly state: ClientState
  readonly reason: SluiceError | null
}

/** Plays a stream over WHEP. It counts as a viewer, so it begins when the user asks for it. */
export function Player({ streamId, token }: { readonly streamId: string; readonly token: string }) {
  const video = useRef<HTMLVideoElement>(null)
  const [isOn, setOn] = useState(false)
  const [{ state, reason }, setShown] = useState<Shown>({ state: 'idle', reason: null })
  useEffect(() => {
    if (!isOn) return undefined
    const url = new URL(`../api/whep/${streamId.split('/').map(encodeURIComponent).join('/')}`, document.baseURI).href
    const viewer = new WhepViewer({
      url,
      token,
      onState: (next, why) => setShown({ state: next, reason: why }),
      onMedia: (media) => {
        if (video.current) video.current.srcObject = media
      },
    })
    void viewer.start().catch(() => undefined)
    return () => void viewer.stop()
  }, [isOn, streamId, token])
  return (
    <div class="screen">
      <video ref={video} aria-label={text.label} controls={isOn} muted autoplay playsInline />
      {state === 'live' && isOn ? (
        <div class="tl">
          <State kind="live" look="solid">
            {words.goLive.live}
          </State>
        </div>
      ) : (
        <div class="middle">
          {isOn && <p role="status">{reason ? `${text.states[state]} ${reason.message}` : text.states[state]}</p>}
          {(!isOn || state === 'ended') && (
            <Button look="primary" icon="play" onClick={() => setOn(true)}>
              {text.watch}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
