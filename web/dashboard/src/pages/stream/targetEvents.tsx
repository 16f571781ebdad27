import { listRestreamEvents } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import type { StreamOnAir } from '../../live.ts'
import { LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { words } from '../../words/words.ts'
import { TARGET_SHAPES, targetName, TargetState } from './targets.tsx'

interface TargetEventsProps {
  readonly streamName: string
  readonly stream: StreamOnAir | undefined
}

/** What became of the targets of a stream lately. It is loaded again when one of them changes. */
export function TargetEvents({ streamName, stream }: TargetEventsProps) {
  const args = { path: { streamName }, query: { limit: 6 } }
  const states = (stream?.restreams ?? []).map(({ index, status, since }) => `${index} ${status} ${since}`).join()
  const load = useLoad((signal) => call(listRestreamEvents, args, { signal }), [streamName, states])
  if (load.error) return <LoadError error={load.error} onRetry={load.reload} />
  if (load.data === undefined || load.data.length === 0) return null
  return (
    <Card title={words.stream.targetEvents} isFlush>
      <ul class="rows">
        {load.data.map(({ id, at, ...event }) => (
          <li key={id}>
            <Shape kind={TARGET_SHAPES[event.status]} isSmall />
            <div class="grow">
              <b>{targetName(event)}</b>
              <p class="num">
                <TargetState target={{ ...event, since: at }} />
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
