import { useState } from 'preact/hooks'
import { type Ingest, type IngestMonitoring, rotateIngestKey } from '#api/channels.ts'
import { ownAddresses } from '../../addresses.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Pairs } from '../../parts/page.tsx'
import { Spark } from '../../parts/spark.tsx'
import { State } from '../../parts/state.tsx'
import { toast } from '../../parts/toast.tsx'
import { bitrate } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { hasAudioTracks, IngestAudio } from './ingestAudio.tsx'
import { ChangeSource } from './ingestSource.tsx'

const text = channelWords.channel
/** The application of publishers that push into a channel. */
const rtmpServer = (): string => `${ownAddresses().rtmps ?? ownAddresses().rtmp}/live`

/** Sluice gives it an address and a key. */
export const isPush = (type: Ingest['type']): boolean => type.endsWith('-push')

/** The whole address of a push over SRT, at the host that clients reach; without secrets for those who may not read them. */
function srtAddressOf(url: string): string {
  const { host, search } = new URL(url)
  return `${ownAddresses().srt ?? `srt://${host}`}${search}`
}

interface IngestCardProps {
  readonly ingest: Ingest
  readonly now: IngestMonitoring | undefined
  readonly onChanged: () => Promise<void>
}

/** Where the media of a channel comes from, and how well it arrives. */
export function IngestCard({ ingest, now, onChanged }: IngestCardProps) {
  const isConnected = now?.status === 'connected'
  const rates = (now?.metrics ?? []).map((sample) => sample.bitrate.total)
  const labels = ingest.tracks.audio.map(({ label }) => label)
  const rows = [
    [text.protocol, channelWords.newChannel.types[ingest.type]] as const,
    ...(ingest.url && !isPush(ingest.type) ? [[text.from, <code>{ingest.url}</code>] as const] : []),
    ...(labels.length > 0 ? [[words.stream.audio, labels.join(', ')] as const] : []),
    ...(isConnected && rates.length > 0 ? [[text.arrives, bitrate(rates.at(-1) ?? 0)] as const] : []),
  ]
  return (
    <div class="card">
      <div class="pad stack gap-s">
        <div class="title">
          <h3>{ingest.name}</h3>
          <State kind={isConnected ? 'ok' : 'idle'}>{isConnected ? text.connected : text.notConnected}</State>
        </div>
        <Pairs rows={rows} />
        {rates.length > 1 && <Spark values={rates} sentence={text.incoming(bitrate(rates.at(-1) ?? 0))} />}
        {ingest.type === 'rtmp-push' && (
          <CopyField label={text.server} what={`${text.server} ${ingest.name}`} value={rtmpServer()} />
        )}
        {ingest.type === 'srt-push' && ingest.url && (
          <CopyField
            label={text.srtServer}
            what={`${text.srtServer} ${ingest.name}`}
            value={srtAddressOf(ingest.url)}
            isSecret
          />
        )}
        {ingest.streamKey && ingest.type === 'rtmp-push' && (
          <CopyField label={text.key} what={`${text.key} ${ingest.name}`} value={ingest.streamKey} isSecret />
        )}
      </div>
      {canChange() && (
        <div class="card-foot">
          {isPush(ingest.type) ? (
            <Rotate ingest={ingest} onChanged={onChanged} />
          ) : (
            <ChangeSource ingest={ingest} onChanged={onChanged} />
          )}
          {hasAudioTracks(ingest.type) && <IngestAudio ingest={ingest} onChanged={onChanged} />}
        </div>
      )}
    </div>
  )
}

function Rotate({ ingest, onChanged }: { readonly ingest: Ingest; readonly onChanged: () => Promise<void> }) {
  const [isAsking, setAsking] = useState(false)
  const rotate = async (): Promise<void> => {
    await call(rotateIngestKey, { path: { ingestId: ingest.id } })
    toast(text.rotated)
    await onChanged()
  }
  return (
    <>
      <Button size="small" icon="refresh" of={ingest.name} onClick={() => setAsking(true)}>
        {text.newKey}
      </Button>
      {isAsking && (
        <Confirm
          title={text.rotateTitle(ingest.name)}
          verb={text.newKey}
          onConfirm={rotate}
          onClose={() => setAsking(false)}
        >
          {text.rotateText}
        </Confirm>
      )}
    </>
  )
}
