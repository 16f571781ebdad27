import { useState } from 'preact/hooks'
import { type Ingest, updateIngest } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { channelWords } from '../../words/channelWords.ts'

const text = channelWords.channel

interface ChangeSourceProps {
  readonly ingest: Ingest
  readonly onChanged: () => Promise<void>
}

/** A button that asks for another address of a source that Sluice dials. */
export function ChangeSource({ ingest, onChanged }: ChangeSourceProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button size="small" icon="edit" of={ingest.name} onClick={() => setAsking(true)}>
        {text.changeSource}
      </Button>
      {isAsking && <SourceDialog ingest={ingest} onChanged={onChanged} onClose={() => setAsking(false)} />}
    </>
  )
}

/** Begins with the address as the page knows it, without its password: sent back so, it keeps that. */
function SourceDialog({ ingest, onChanged, onClose }: ChangeSourceProps & { readonly onClose: () => void }) {
  const [url, setUrl] = useState(ingest.url ?? '')
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(updateIngest, { path: { ingestId: ingest.id }, body: { url: url.trim() } })
    toast(text.sourceChanged)
    await onChanged()
    onClose()
  })
  return (
    <Dialog
      title={text.sourceTitle(ingest.name)}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.changeSource} isBusy={isBusy} onClose={onClose} />}
    >
      {error && fields['url'] === undefined && <Notice kind="error">{error.message}</Notice>}
      <TextField
        label={channelWords.newChannel.url}
        hint={text.sourceHint}
        required
        autocomplete="off"
        maxLength={2048}
        error={fields['url']}
        value={url}
        onValue={setUrl}
      />
    </Dialog>
  )
}
