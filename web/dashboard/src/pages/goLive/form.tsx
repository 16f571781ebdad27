import { useEffect, useState } from 'preact/hooks'
import { sendableCodecs, type VideoCodec } from '../../../../client/index.ts'
import { preview } from '../../broadcast/broadcast.ts'
import { LevelMeter } from '../../broadcast/level.tsx'
import { InsecureNotice, SourceNotice } from '../../broadcast/problems.tsx'
import { bitrateOf, type Quality, RESOLUTIONS } from '../../broadcast/quality.ts'
import { SourceChoice } from '../../broadcast/sourceChoice.tsx'
import { listDevices, type SourceKind } from '../../broadcast/sources.ts'
import { codecName } from '../../codecName.ts'
import { SelectField, TextField, Toggle } from '../../parts/form.tsx'
import { words } from '../../words/words.ts'

const text = words.goLive

/** What the user chose. */
export interface Choices {
  readonly quality: Quality
  readonly cameraId: string
  readonly microphoneId: string
}

interface Props {
  readonly choices: Choices
  readonly onChoices: (choices: Choices) => void
  readonly onSource: (kind: SourceKind, choices: Choices) => void
  /** Codec, bitrate and layers are agreed on when the broadcast begins. */
  readonly isLive: boolean
}

/** What to show, and how well. */
export function MediaFields({ choices, onChoices, onSource, isLive }: Props) {
  const { kind, source, problem } = preview.value
  const change = (next: Partial<Choices>): void => {
    const all = { ...choices, ...next }
    onChoices(all)
    if (kind !== null) onSource(kind, all)
  }
  const setQuality = (next: Partial<Quality>): void => {
    const quality = { ...choices.quality, ...next }
    const isOfSource = next.resolution !== undefined || next.framesPerSecond !== undefined
    if (isOfSource) change({ quality })
    else onChoices({ ...choices, quality })
  }
  return (
    <>
      <fieldset class="field">
        <legend class="label">{text.video}</legend>
        <SourceChoice chosen={kind} onChoose={(chosen) => onSource(chosen, choices)} />
      </fieldset>
      {problem === null ? <InsecureNotice /> : <SourceNotice problem={problem} />}
      {kind === 'camera' && source && <Devices choices={choices} onChange={change} />}
      <LevelMeter media={source?.media ?? null} />
      <QualityFields quality={choices.quality} isLive={isLive} onQuality={setQuality} />
    </>
  )
}

function Devices({
  choices,
  onChange,
}: {
  readonly choices: Choices
  readonly onChange: (next: Partial<Choices>) => void
}) {
  const [found, setFound] = useState<Awaited<ReturnType<typeof listDevices>>>({ cameras: [], microphones: [] })
  useEffect(() => {
    const look = (): void => void listDevices().then(setFound)
    look()
    navigator.mediaDevices.addEventListener('devicechange', look)
    return () => navigator.mediaDevices.removeEventListener('devicechange', look)
  }, [])
  return (
    <>
      <DeviceField
        label={text.camera}
        devices={found.cameras}
        value={choices.cameraId}
        onValue={(cameraId) => onChange({ cameraId })}
      />
      <DeviceField
        label={text.microphone}
        devices={found.microphones}
        value={choices.microphoneId}
        onValue={(microphoneId) => onChange({ microphoneId })}
      />
    </>
  )
}

function DeviceField(props: {
  readonly label: string
  readonly devices: readonly MediaDeviceInfo[]
  readonly value: string
  readonly onValue: (id: string) => void
}) {
  const named = props.devices.map(({ deviceId, label }) => [deviceId, label] as const)
  return (
    <SelectField
      label={props.label}
      value={props.value}
      choices={[['', text.anyDevice], ...named]}
      onValue={props.onValue}
    />
  )
}

const codecChoice = (codec: VideoCodec | ''): string => (codec === '' ? text.anyCodec : codecName(codec))

interface QualityProps {
  readonly quality: Quality
  readonly isLive: boolean
  readonly onQuality: (next: Partial<Quality>) => void
}

function QualityFields({ quality, isLive, onQuality }: QualityProps) {
  const { resolution, framesPerSecond, codec, megabits, simulcast } = quality
  return (
    <details>
      <summary>{text.qualityIs(resolution, framesPerSecond, codecChoice(codec), megabits)}</summary>
      <div class="form in-details">
        <div class="pair tight">
          <SelectField
            label={text.resolution}
            value={resolution}
            choices={RESOLUTIONS.map((one) => [one, one] as const)}
            onValue={(chosen) => onQuality({ resolution: chosen })}
          />
          <SelectField
            label={text.frames}
            value={String(framesPerSecond)}
            choices={[
              ['30', '30'],
              ['60', '60'],
            ]}
            onValue={(chosen) => onQuality({ framesPerSecond: chosen === '60' ? 60 : 30 })}
          />
        </div>
        <div class="pair tight">
          <SelectField
            label={text.codec}
            value={codec}
            isDisabled={isLive}
            choices={(['', ...sendableCodecs()] as const).map((one) => [one, codecChoice(one)] as const)}
            onValue={(chosen) => onQuality({ codec: chosen })}
          />
          <TextField
            label={`${text.bitrate}, Mbit/s`}
            inputMode="decimal"
            disabled={isLive}
            value={megabits}
            problem={bitrateOf(quality) === null ? text.bitrateError : undefined}
            onValue={(typed) => onQuality({ megabits: typed })}
          />
        </div>
        <Toggle
          label={text.simulcast}
          note={text.simulcastNote}
          isOn={simulcast}
          isDisabled={isLive}
          onChange={(isOn) => onQuality({ simulcast: isOn })}
        />
      </div>
    </details>
  )
}
