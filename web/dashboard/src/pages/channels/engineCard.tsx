import { type AbrLadder, type Engine, type EngineMonitoring, startEngine, stopEngine } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { useSubmit } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { State } from '../../parts/state.tsx'
import { bitrate, count } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { noticeWords } from '../../words/noticeWords.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { variantsOf } from './ladder.ts'
import { isRunning, STATUS } from './status.ts'
import '../../parts/bars.css'

const text = channelWords.channel

interface EngineCardProps {
  readonly engine: Engine
  readonly now: EngineMonitoring | undefined
  /** Undefined: not loaded yet. */
  readonly ladder: AbrLadder | undefined
  readonly onChanged: () => Promise<void>
}

/** An engine: its state, its ladder, its speed, and what each rendition gets. */
export function EngineCard({ engine, now, ladder, onChanged }: EngineCardProps) {
  const status = now?.status ?? engine.status
  const problem = noticeWords(engine.statusMessage ?? '', engine.statusSentences)
  const toggle = useSubmit(async () => {
    await call(isRunning({ status }) ? stopEngine : startEngine, { path: { engineId: engine.id } })
    await onChanged()
  })
  return (
    <div class="card">
      <div class="pad stack gap-s">
        <div class="title">
          <h3>{engine.name}</h3>
          <State kind={STATUS[status]}>{words.channels.states[status]}</State>
        </div>
        {problem && <Notice kind={status === 'error' ? 'error' : 'warn'}>{problem}</Notice>}
        {toggle.error && <Notice kind="error">{toggle.error.message}</Notice>}
        {ladder && <p class="note">{text.ladder(ladder.name, variantsOf(ladder))}</p>}
        {now?.encoder && <Encoder encoder={now.encoder} />}
        {now && isRunning({ status }) && <Renditions now={now} />}
      </div>
      <div class="card-foot">
        {canChange() && (
          <Button size="small" isBusy={toggle.isBusy} onClick={() => toggle.onSubmit()} of={engine.name}>
            {isRunning({ status }) ? words.channels.stop : words.channels.start}
          </Button>
        )}
        <span class="end">{text.priority(engine.priority)}</span>
      </div>
    </div>
  )
}

const hundredths = (value: number): string => count(Math.round(value * 100) / 100)

function Encoder({ encoder }: { readonly encoder: NonNullable<EngineMonitoring['encoder']> }) {
  const { speed, lagSeconds, droppedFrames, cores } = encoder
  const facts = [
    speed === null ? '' : text.speed(hundredths(speed)),
    cores === null ? '' : text.cores(hundredths(cores)),
    lagSeconds < 1 ? '' : text.lag(count(Math.round(lagSeconds))),
    droppedFrames === 0 ? '' : text.dropped(count(droppedFrames)),
  ].filter(Boolean)
  return <p class="note">{facts.join(' · ')}</p>
}

function Renditions({ now }: { readonly now: EngineMonitoring }) {
  const rows = now.renditions.map(({ name, metrics }) => ({ name, ...metrics.at(-1) }))
  const most = Math.max(1, ...rows.map((row) => row.bitrate ?? 0))
  return (
    <ul class="bars">
      {rows.map(({ name, bitrate: rate = 0, framerate }) => (
        <li key={name}>
          <span>
            {name} {typeof framerate === 'number' && <span class="faint">{text.fps(framerate.toFixed(0))}</span>}
          </span>
          <span class="n">{bitrate(rate)}</span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="f1" width={(rate / most) * 100} height="6" />
          </svg>
        </li>
      ))}
    </ul>
  )
}
