import { type Engine, type EngineMonitoring, syncEngineRestream, updateEngine } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import type { RestreamTarget } from '../tokens/operations.ts'
import { TargetList } from '../tokens/targetsCard.tsx'

const text = channelWords.channel

interface EngineTargetsProps {
  readonly engine: Engine
  readonly now: EngineMonitoring | undefined
  readonly onChanged: () => Promise<void>
}

/** Other servers that get what an engine makes, with their state. */
export function EngineTargets({ engine, now, onChanged }: EngineTargetsProps) {
  const path = { engineId: engine.id }
  const targets = engine.restream.map((target) => ({ ...target, transcode: false }))
  const save = async (next: readonly RestreamTarget[]): Promise<void> => {
    await call(updateEngine, { path, body: { restream: next.map(({ transcode: _never, ...target }) => target) } })
    await onChanged()
  }
  if (targets.length === 0 && !canChange()) return null
  return (
    <TargetList
      title={text.targetsOf(engine.name)}
      of={engine.name}
      none={text.noTargets}
      targets={targets}
      nowOf={({ url }, at) => (now?.restreams ?? []).filter((one) => one.index === at && one.url === url)}
      onSave={save}
      onSync={() => call(syncEngineRestream, { path })}
      canTranscode={false}
    />
  )
}
