import { useState } from 'preact/hooks'
import { bitrates, type StreamOnAir } from '../../live.ts'
import { EndStream } from '../stream/end.tsx'
import { formatOf, HealthState } from '../stream/format.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Spark } from '../../parts/spark.tsx'
import { State } from '../../parts/state.tsx'
import { bitrate, count, Since } from '../../parts/values.tsx'
import { go, linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { Thumbnail } from './thumbnail.tsx'
import '../../parts/screen.css'

const text = words.overview

/** One stream on the air. */
export function StreamCard({ stream }: { readonly stream: StreamOnAir }) {
  const { streamName, startedOn, protocol, viewers, tokenLabel } = stream
  const path = `/streams/${encodeURIComponent(streamName)}`
  return (
    <li class="card live-card">
      <div class="screen">
        <Thumbnail streamName={streamName} />
        <div class="tl">
          <State kind="live" look="solid">
            <Since since={startedOn} />
          </State>
        </div>
        <div class="tr">
          <span class="chip">{protocol.toUpperCase()}</span>
        </div>
        <div class="br">
          <span class="chip">
            <Icon name="viewers" isSmall />
            {count(viewers)}
            <span class="sr"> {text.viewersWord}</span>
          </span>
        </div>
      </div>
      <div class="text">
        <div class="line">
          <h3>
            <a class="clamp" title={streamName} href={linkTo(path)}>
              {streamName}
            </a>
          </h3>
          <Actions stream={stream} path={path} />
        </div>
        <p class="meta">
          <span class="clamp" title={tokenLabel}>
            {tokenLabel ?? text.deletedToken}
          </span>
          <span>{formatOf(stream)}</span>
        </p>
        <Arrival stream={stream} />
      </div>
    </li>
  )
}

function Arrival({ stream }: { readonly stream: StreamOnAir }) {
  const { streamName, bitrateIn = 0, health } = stream
  const values = bitrates.value.get(streamName) ?? []
  return (
    <>
      <div class="line">
        <p class="meta">
          <span class="num">{bitrate(bitrateIn)}</span>
        </p>
        <HealthState health={health} />
      </div>
      <Spark
        values={values.length > 1 ? values : [bitrateIn, bitrateIn]}
        sentence={text.sparkSentence(streamName, bitrate(bitrateIn))}
      />
    </>
  )
}

function Actions({ stream, path }: { readonly stream: StreamOnAir; readonly path: string }) {
  const [isEnding, setEnding] = useState(false)
  const items = [
    { icon: 'play' as const, text: text.watch, onSelect: () => go(path) },
    ...(canChange()
      ? [{ icon: 'stop' as const, text: words.stream.end, isDanger: true, onSelect: () => setEnding(true) }]
      : []),
  ]
  return (
    <>
      <Menu label={words.parts.moreFor(stream.streamName)} items={items} />
      {isEnding && <EndStream stream={stream} onClose={() => setEnding(false)} />}
    </>
  )
}
