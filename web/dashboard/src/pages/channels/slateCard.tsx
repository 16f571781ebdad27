import { useRef, useState } from 'preact/hooks'
import { type Channel, deleteSlate, readSlate, setSlate, type Slate } from '#api/channels.ts'
import { addressOf, call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { bytes } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'

const text = channelWords.slate
const TYPES = 'image/jpeg,image/png,video/mp4'

interface SlateProps {
  readonly channel: Channel
  readonly onChanged: () => Promise<void>
}

/** What viewers see while there is no broadcast. */
export function SlateCard({ channel, onChanged }: SlateProps) {
  const { slate } = channel
  return (
    <Card title={text.title}>
      {slate ? <Shown channelId={channel.id} slate={slate} /> : <p class="note">{text.none}</p>}
      {canChange() && <Change channel={channel} onChanged={onChanged} />}
    </Card>
  )
}

function Shown({ channelId, slate }: { readonly channelId: string; readonly slate: Slate }) {
  const { id, mediaType, size, width, height, duration, hasAudio = false } = slate
  const address = `${addressOf(readSlate, { path: { channelId } })}?id=${id}`
  const sentence =
    duration === undefined
      ? text.image(width, height, bytes(size))
      : text.clip(width, height, bytes(size), Math.round(duration * 10) / 10, hasAudio)
  return (
    <div class="slate">
      {mediaType === 'video/mp4' ? (
        <video src={address} aria-label={sentence} muted controls playsInline preload="metadata" />
      ) : (
        <img src={address} alt={sentence} />
      )}
      <div class="stack gap-s">
        <p class="num">{sentence}</p>
        <p class="note">{text.shown}</p>
      </div>
    </div>
  )
}

function Change({ channel, onChanged }: SlateProps) {
  const path = { channelId: channel.id }
  const input = useRef<HTMLInputElement>(null)
  const [isAsking, setAsking] = useState(false)
  const upload = useSubmit(async () => {
    const file = input.current?.files?.[0]
    if (!file) return
    try {
      await call(setSlate, { path, file })
    } finally {
      // The same file may be chosen again.
      if (input.current) input.current.value = ''
    }
    toast(text.isSet)
    await onChanged()
  })
  const remove = async (): Promise<void> => {
    await call(deleteSlate, { path })
    await onChanged()
  }
  return (
    <>
      <p class="note">{text.limits}</p>
      {upload.error && <Notice kind="error">{upload.error.message}</Notice>}
      <input ref={input} type="file" hidden accept={TYPES} aria-label={text.file} onChange={() => upload.onSubmit()} />
      <div class="actions">
        <Button size="small" icon="plus" isBusy={upload.isBusy} onClick={() => input.current?.click()}>
          {channel.slate ? text.replace : text.choose}
        </Button>
        {channel.slate && (
          <Button size="small" look="danger" icon="trash" onClick={() => setAsking(true)}>
            {text.remove}
          </Button>
        )}
      </div>
      {isAsking && (
        <Confirm title={text.removeTitle} verb={text.remove} onConfirm={remove} onClose={() => setAsking(false)}>
          {text.removeText}
        </Confirm>
      )}
    </>
  )
}
