import { useState } from 'preact/hooks'
import { ownAddresses, type PublishSecrets, rtmpKey, rtmpServer, srtAddress, whipAddress } from '../addresses.ts'
import { CopyField } from '../parts/copy.tsx'
import { Segment } from '../parts/form.tsx'
import { Bones } from '../parts/notice.tsx'
import { words } from '../words/words.ts'

const text = words.goLive.program

type Way = 'whip' | 'rtmp' | 'srt'

const NOTES: Readonly<Record<Way, string>> = { whip: text.whipNote, rtmp: text.rtmpNote, srt: text.srtNote }

/** What to enter in OBS or another program. `token`: undefined while it is loaded. */
export function ProgramAddresses(props: { readonly streamName: string; readonly token: PublishSecrets | undefined }) {
  const { streamName, token } = props
  const [protocol, setProtocol] = useState<Way>('whip')
  const addresses = ownAddresses()
  return (
    <>
      <Segment
        label={text.protocol}
        choices={[
          ['whip', 'WHIP'],
          ['rtmp', addresses.rtmps === null ? 'RTMP' : 'RTMPS'],
          ...(addresses.srt === null ? [] : [['srt', 'SRT'] as const]),
        ]}
        value={protocol}
        onChange={setProtocol}
      />
      <p class="note">{NOTES[protocol]}</p>
      {token === undefined ? (
        <Bones rows={2} />
      ) : protocol === 'whip' ? (
        <>
          <CopyField label={text.server} what={text.server} value={whipAddress(addresses, streamName)} />
          <CopyField label={text.bearer} what={text.bearer} value={token.token ?? ''} isSecret />
        </>
      ) : protocol === 'srt' ? (
        <CopyField
          label={text.server}
          what={text.server}
          value={srtAddress(addresses, streamName, token) ?? ''}
          isSecret
        />
      ) : (
        <>
          <CopyField label={text.server} what={text.server} value={rtmpServer(addresses)} />
          <CopyField label={text.key} what={text.key} value={rtmpKey(streamName, token.token ?? '')} isSecret />
        </>
      )}
    </>
  )
}
