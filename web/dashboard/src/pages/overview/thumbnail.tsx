import { useEffect, useState } from 'preact/hooks'
import { readThumbnail } from '#api/tokens.ts'
import { addressOf } from '../../api/call.ts'

const AGAIN_MS = 10_000

/** The latest thumbnail of a stream, if its token makes them. */
export function Thumbnail({ streamName }: { readonly streamName: string }) {
  const [turn, setTurn] = useState(0)
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    const timer = setInterval(() => {
      setMissing(false)
      setTurn((before) => before + 1)
    }, AGAIN_MS)
    return () => clearInterval(timer)
  }, [])
  if (isMissing) return null
  const address = addressOf(readThumbnail, { path: { streamName } })
  return <img src={`${address}?turn=${turn}`} alt="" onError={() => setMissing(true)} />
}
