import { codecName } from '../../codecName.ts'
import type { StreamOnAir } from '../../live.ts'
import { State } from '../../parts/state.tsx'
import { words } from '../../words/words.ts'

const text = words.stream

/** `1080p30 · H.264`, as far as it is known. */
export function formatOf({ height, frameRate, videoCodec, audioCodec }: StreamOnAir): string {
  const size = height === undefined ? '' : `${height}p${frameRate ? Math.round(frameRate) : ''}`
  const codec = videoCodec ?? audioCodec
  return [size, codec === undefined ? '' : codecName(codec)].filter(Boolean).join(' · ')
}

const KINDS = { steady: 'ok', impaired: 'warn', uneven: 'warn', stalled: 'error' } as const

/** How a stream arrives, in a word. */
export const HealthState = ({
  health,
  look = 'plain',
}: {
  readonly health: StreamOnAir['health']
  readonly look?: 'plain' | 'pill'
}) => (
  <State kind={KINDS[health]} look={look}>
    {text.health[health]}
  </State>
)
