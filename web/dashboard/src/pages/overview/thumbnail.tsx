import { useState } from 'preact/hooks'
import { readThumbnail } from '#api/tokens.ts'
import { addressOf } from '../../api/call.ts'
import { useEvery } from '../../follow.ts'
import { words } from '../../words/words.ts'

const AGAIN_MS = 10_000

/** The latest thumbnail of a stream. Where its token makes none, it says so. */
export function Thumbnail({ streamName }: { readonly streamName: string }) {
  const [turn, setTurn] = useState(0)
  const [isMissing, setMissing] = useState(false)
  useEvery(AGAIN_MS, () => setTurn(turn + 1))
  const address = addressOf(readThumbnail, { path: { streamName } })
  return (
    <>
      {isMissing && <span class="no-thumbnail">{words.overview.noThumbnail}</span>}
      <img
        src={`${address}?turn=${turn}`}
        alt=""
        hidden={isMissing}
        onLoad={() => setMissing(false)}
        onError={() => setMissing(true)}
      />
    </>
  )
}
