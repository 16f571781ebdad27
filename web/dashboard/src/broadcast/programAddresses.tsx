import { useState } from 'preact/hooks'
import { ownAddresses, rtmpKey, rtmpServer, whipAddress } from '../addresses.ts'
import { CopyField } from '../parts/copy.tsx'
import { Segment } from '../parts/form.tsx'
import { Bones } from '../parts/notice.tsx'
import { words } from '../words/words.ts'

const text = words.goLive.program

/** What to enter in OBS or another program. `token`: its value, `undefined` while it is loaded. */
export function ProgramAddresses(props: { readonly streamName: string; readonly token: string | undefined }) {
  const { streamName, token } = props
  const [protocol, setProtocol] = useState<'whip' | 'rtmp'>('whip')
  const addresses = ownAddresses()
  return (
    <>
      <Segment
        label={text.protocol}
        choices={[
          ['whip', 'WHIP'],
          ['rtmp', addresses.rtmps === null ? 'RTMP' : 'RTMPS'],
        ]}
        value={protocol}
        onChange={setProtocol}
      />
      <p class="note">{protocol === 'whip' ? text.whipNote : text.rtmpNote}</p>
      {token === undefined ? (
        <Bones rows={2} />
      ) : protocol === 'whip' ? (
        <>
          <CopyField label={text.server} what={text.server} value={whipAddress(addresses, streamName)} />
          <CopyField label={text.bearer} what={text.bearer} value={token} isSecret />
        </>
      ) : (
        <>
          <CopyField label={text.server} what={text.server} value={rtmpServer(addresses)} />
          <CopyField label={text.key} what={text.key} value={rtmpKey(streamName, token)} isSecret />
        </>
      )}
    </>
  )
}
