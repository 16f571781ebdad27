import { useState } from 'preact/hooks'
import { previewStream } from '#api/dashboard.ts'
import { listSessions, readThumbnail } from '#api/tokens.ts'
import { addressOf, call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { StreamOnAir } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { LoadError } from '../../parts/notice.tsx'
import { SluicePlayer } from '../../parts/sluicePlayer.tsx'
import { words } from '../../words/words.ts'
import '../../parts/screen.css'

const text = words.stream.player

/** More players at once would only compete for the processor of the user. */
const SOURCES_MAX = 4

/**
 * Plays a stream as viewers get it, each of its sources. A preview needs no token and counts for no customer. It takes
 * bandwidth of the server, so it begins when the user asks for it.
 */
export function Players({ stream }: { readonly stream: StreamOnAir }) {
  const [isOn, setOn] = useState(false)
  const { streamName, streamId, sources } = stream
  const named = useLoad((signal) => (sources > 1 ? sourcesOf(streamName, signal) : ONE), [streamName, sources])
  const pass = useLoad(
    (signal) => (isOn ? call(previewStream, { body: { streamName } }, { signal }) : Promise.resolve(undefined)),
    [streamName, isOn],
  )
  if (pass.error) return <LoadError error={pass.error} onRetry={pass.reload} />
  if (!isOn || !pass.data) return <Closed streamName={streamName} isOpening={isOn} onOpen={() => setOn(true)} />
  const { pass: token } = pass.data
  return (
    <div class={sources > 1 ? 'players several' : 'players'}>
      {named.data?.map((source) => (
        <SluicePlayer
          key={source}
          attributes={{ stream: streamId, source, token }}
          caption={source === '' ? '' : text.source(source)}
        />
      ))}
    </div>
  )
}

/** The one without a source id, or the oldest. */
const ONE = Promise.resolve<readonly string[]>([''])

async function sourcesOf(streamName: string, signal: AbortSignal): Promise<readonly string[]> {
  const query = { streamName, action: 'publish', limit: 100 } as const
  const publishers = await call(listSessions, { query }, { signal })
  // A spare and a layer have the source of the publisher that is shown.
  return [...new Set(publishers.map(({ sourceId = '' }) => sourceId))].toSorted().slice(0, SOURCES_MAX)
}

interface ClosedProps {
  readonly streamName: string
  readonly isOpening: boolean
  readonly onOpen: () => void
}

/** With the latest picture of the stream, if its token makes some. */
function Closed({ streamName, isOpening, onOpen }: ClosedProps) {
  const [isMissing, setMissing] = useState(false)
  return (
    <div class="screen">
      {!isMissing && (
        <img src={addressOf(readThumbnail, { path: { streamName } })} alt="" onError={() => setMissing(true)} />
      )}
      <div class="middle">
        <Button look="primary" icon="play" isBusy={isOpening} onClick={onOpen}>
          {text.watch}
        </Button>
      </div>
    </div>
  )
}
