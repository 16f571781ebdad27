import { downloadRecording, listAccessLog, listRecordings, listSessions } from '#api/tokens.ts'
import { addressOf, call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { refusals, type StreamOnAir } from '../../live.ts'
import { Icon } from '../../parts/icon.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { bytes, duration, moment, Time } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'
import { linkToAccess } from '../access/filters.ts'
import { useUnderWay } from '../recordings/underWay.ts'
import { codecName } from '../../codecName.ts'

const text = words.stream

/** Who sends the stream. */
export function Publisher({ stream }: { readonly stream: StreamOnAir }) {
  const { streamName, sessionId, tokenId, tokenLabel, startedOn, videoCodec, audioCodec, width, height } = stream
  const query = { streamName, action: 'publish' } as const
  const { data } = useLoad((signal) => call(listSessions, { query }, { signal }), [sessionId])
  const own = data?.find(({ id }) => id === sessionId)
  const size = width && height ? `, ${width} × ${height}` : ''
  return (
    <Card title={text.publisher}>
      <Pairs
        rows={[
          [text.token, <a key="token" href={linkTo(`/tokens/publish/${tokenId}`)} children={tokenLabel ?? tokenId} />],
          [text.from, own ? <code key="from">{own.address}</code> : '–'],
          [text.began, <Time key="began" at={startedOn} isWhole />],
          [text.video, videoCodec ? `${codecName(videoCodec)}${size}` : '–'],
          [text.audio, audioCodec ? codecName(audioCodec) : '–'],
        ]}
      />
    </Card>
  )
}

/** Leads to the whole list of what a card has the newest of. */
const All = ({ href, of }: { readonly href: string; readonly of: string }) => (
  <a class="note" href={href}>
    {text.all}
    <span class="sr"> {of}</span>
  </a>
)

interface RecordingsProps {
  readonly streamName: string
  /** Of the broadcast; undefined: there is none. */
  readonly isRecorded: boolean | undefined
}

/** The newest recordings of a stream. */
export function Recordings({ streamName, isRecorded }: RecordingsProps) {
  const query = { streamName, limit: 5 }
  const load = useLoad((signal) => call(listRecordings, { query }, { signal }), [streamName, isRecorded])
  useUnderWay(load.data, load.reload)
  const all = <All href={linkTo('/recordings', { stream: streamName })} of={text.recordings} />
  return (
    <Card title={text.recordings} aside={all} isFlush>
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones rows={1} />}
      {load.data?.length === 0 && <p class="pad note">{text.noRecording}</p>}
      <ul class="rows">
        {(load.data ?? []).map((one) => (
          <li key={one.id}>
            {one.state === 'recording' ? <Shape kind="live" isSmall /> : <Icon name="recordings" isSmall />}
            <div class="grow">
              <b>{one.state === 'recording' ? text.recordingNow : <Time at={one.startedOn} isWhole />}</b>
              <p class="num">
                {[one.durationMs ? duration(one.durationMs / 1000) : '', one.bytes ? bytes(one.bytes) : '']
                  .filter(Boolean)
                  .join(' · ')}
              </p>
            </div>
            {one.state === 'completed' && (
              <a
                class="icon-btn"
                href={addressOf(downloadRecording, { path: { recordingId: one.id } })}
                aria-label={`${words.recordings.download}: ${moment(one.startedOn)}`}
              >
                <Icon name="download" />
              </a>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** The newest refusals at a stream. */
export function RecentRefusals({ streamName }: { readonly streamName: string }) {
  const query = { streamName, allowed: false, limit: 5 }
  const load = useLoad((signal) => call(listAccessLog, { query }, { signal }), [streamName], refusals.value)
  const href = linkToAccess({ stream: streamName, outcome: 'refused' })
  return (
    <Card title={text.refused} aside={<All href={href} of={text.refused} />} isFlush>
      {load.error && <LoadError error={load.error} onRetry={load.reload} />}
      {!load.data && !load.error && <Bones rows={1} />}
      {load.data?.length === 0 && <p class="pad note">{text.noRefusal}</p>}
      <ul class="rows">
        {(load.data ?? []).map(({ id, code, message, address, lastAt, count: times }) => (
          <li key={id}>
            <Shape kind="error" isSmall />
            <div class="grow">
              <b>{(code === undefined ? undefined : words.access.codes[code]) ?? message}</b>
              <p class="num">
                <code>{address}</code> · <Time at={lastAt} /> {times > 1 && `· ${times} ×`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
