import { useEffect, useState } from 'preact/hooks'
import { listStreamsOnAir } from '#api/tokens.ts'
import { call } from './api/call.ts'

/** What is known of one stream at this moment. */
export interface StreamNow {
  readonly isLive: boolean
  readonly viewers: number
  /** How they watch: `WHEP`, `HLS`. */
  readonly protocols: readonly string[]
}

const NOTHING: StreamNow = { isLive: false, viewers: 0, protocols: [] }
const STEP_MS = 2000

/** Follows one stream while a page is open. */
export function useStreamNow(streamName: string): StreamNow {
  const [now, setNow] = useState(NOTHING)
  useEffect(() => {
    setNow(NOTHING)
    if (streamName === '') return undefined
    const stopping = new AbortController()
    void follow(streamName, setNow, stopping.signal)
    return () => stopping.abort()
  }, [streamName])
  return now
}

async function follow(streamName: string, show: (now: StreamNow) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = await read(streamName, signal).catch(() => null)
    if (now !== null && !signal.aborted) show(now)
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}

async function read(streamName: string, signal: AbortSignal): Promise<StreamNow> {
  const [stream] = await call(listStreamsOnAir, { query: { streamName } }, { signal })
  if (!stream) return NOTHING
  const { whep, hls } = stream.viewersByProtocol
  return {
    isLive: true,
    viewers: stream.viewers,
    protocols: [whep > 0 ? 'WHEP' : '', hls > 0 ? 'HLS' : ''].filter(Boolean),
  }
}
