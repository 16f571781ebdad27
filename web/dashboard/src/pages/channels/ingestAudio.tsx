import { useState } from 'preact/hooks'
import { type Ingest, updateIngest } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { TextField, useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'

const text = channelWords.channel
const MOST = 12

type AudioTrack = Ingest['tracks']['audio'][number]
/** As it is typed. */
interface TypedTrack {
  readonly pid: string
  readonly language: string
  readonly label: string
}

const NONE: TypedTrack = { pid: '', language: '', label: '' }

/** Whether sources of this type have several audio tracks. */
export const hasAudioTracks = (type: Ingest['type']): boolean => /^(?:srt|rtmp)-/.test(type)

interface IngestAudioProps {
  readonly ingest: Ingest
  readonly onChanged: () => Promise<void>
}

/** A button that asks for the audio tracks that viewers choose from. */
export function IngestAudio({ ingest, onChanged }: IngestAudioProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button size="small" icon="edit" of={ingest.name} onClick={() => setAsking(true)}>
        {text.audioTracks}
      </Button>
      {isAsking && <AudioDialog ingest={ingest} onChanged={onChanged} onClose={() => setAsking(false)} />}
    </>
  )
}

function AudioDialog({ ingest, onChanged, onClose }: IngestAudioProps & { readonly onClose: () => void }) {
  const [tracks, setTracks] = useState<readonly TypedTrack[]>(ingest.tracks.audio.map(typedOf))
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    const audio = tracks.map(trackOf)
    await call(updateIngest, { path: { ingestId: ingest.id }, body: { tracks: { audio } } })
    toast(text.audioChanged)
    await onChanged()
    onClose()
  })
  const hasFieldError = Object.keys(fields).some((name) => name.startsWith('tracks.audio['))
  return (
    <Dialog
      title={text.audioTitle(ingest.name)}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={words.parts.save} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !hasFieldError && <Notice kind="error">{error.message}</Notice>}
      <p>{text.audioHint}</p>
      {tracks.map((track, index) => (
        <TrackFields
          key={index}
          track={track}
          number={index + 1}
          numberLabel={ingest.type.startsWith('srt-') ? text.audioPid : text.audioTrackId}
          isOnly={tracks.length === 1}
          errorOf={(name) => fields[`tracks.audio[${index}].${name}`]}
          onTrack={(changed) => setTracks(tracks.with(index, changed))}
          onRemove={() => setTracks(tracks.toSpliced(index, 1))}
        />
      ))}
      {tracks.length < MOST && (
        <Button icon="plus" onClick={() => setTracks([...tracks, NONE])}>
          {text.addAudio}
        </Button>
      )}
    </Dialog>
  )
}

interface TrackFieldsProps {
  readonly track: TypedTrack
  /** Among the tracks. */
  readonly number: number
  /** Of the number that the track has in the source. */
  readonly numberLabel: string
  readonly isOnly: boolean
  readonly errorOf: (name: keyof TypedTrack) => string | undefined
  readonly onTrack: (track: TypedTrack) => void
  readonly onRemove: () => void
}

function TrackFields(props: TrackFieldsProps) {
  const { track, number, numberLabel, isOnly, errorOf, onTrack, onRemove } = props
  const name = track.label === '' ? text.audioTrack(number) : track.label
  return (
    <fieldset class="stack gap-s">
      <legend class="title">
        {name}
        <IconButton icon="trash" label={words.parts.remove(name)} onClick={onRemove} />
      </legend>
      <TextField
        label={text.audioLabel}
        required
        maxLength={64}
        error={errorOf('label')}
        value={track.label}
        onValue={(label) => onTrack({ ...track, label })}
      />
      <TextField
        label={text.audioLanguage}
        hint={text.audioLanguageHint}
        required
        maxLength={35}
        error={errorOf('language')}
        value={track.language}
        onValue={(language) => onTrack({ ...track, language })}
      />
      <TextField
        label={numberLabel}
        isOptional={isOnly}
        required={!isOnly}
        inputMode="numeric"
        error={errorOf('pid')}
        value={track.pid}
        onValue={(pid) => onTrack({ ...track, pid })}
      />
    </fieldset>
  )
}

const typedOf = ({ pid, language, label }: AudioTrack): TypedTrack => ({
  pid: pid === undefined ? '' : String(pid),
  language,
  label,
})

/** What is no number is refused by the server, which names the field. */
const trackOf = ({ pid, language, label }: TypedTrack): AudioTrack => ({
  ...(pid.trim() === '' ? {} : { pid: Number(pid) }),
  language: language.trim(),
  label: label.trim(),
})
