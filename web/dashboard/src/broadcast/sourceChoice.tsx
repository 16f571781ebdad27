import { Segment } from '../parts/form.tsx'
import { Icon } from '../parts/icon.tsx'
import { words } from '../words/words.ts'
import { choose } from './broadcast.ts'
import type { Quality } from './quality.ts'
import type { SourceKind } from './sources.ts'
import '../parts/screen.css'

const text = words.goLive

interface SourceArgs {
  readonly quality: Quality
  readonly label: string
  readonly cameraId?: string
  readonly microphoneId?: string
}

/** Opens sources with the settings of a form. */
export function useSource({ quality, label, cameraId = '', microphoneId = '' }: SourceArgs) {
  return { choose: (kind: SourceKind) => choose(kind, { quality, cameraId, microphoneId, label: () => label }) }
}

const ICONS = { test: 'testPattern', camera: 'camera', screen: 'screen' } as const

/** Test pattern, camera or screen. Nothing is asked of the user before one is chosen. */
export function SourceChoice(props: {
  readonly chosen: SourceKind | null
  readonly onChoose: (kind: SourceKind) => void
}) {
  const choices = (['test', 'camera', 'screen'] as const).map(
    (kind) =>
      [
        kind,
        <>
          <Icon name={ICONS[kind]} isSmall />
          {text.sources[kind]}
        </>,
      ] as const,
  )
  return (
    <Segment<SourceKind | ''>
      label={text.video}
      choices={choices}
      value={props.chosen ?? ''}
      isWide
      onChange={(kind) => kind !== '' && props.onChoose(kind)}
    />
  )
}
