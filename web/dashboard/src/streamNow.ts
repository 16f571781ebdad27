import { streams, type StreamOnAir } from './live.ts'

/** What is known of one stream at this moment. */
export interface StreamNow {
  /** Undefined: it is not on the air. */
  readonly stream: StreamOnAir | undefined
  readonly isLive: boolean
  readonly viewers: number
  /** How they watch: `WHEP`, `HLS`. */
  readonly protocols: readonly string[]
}

/** Follows one stream while a page is open. */
export function useStreamNow(streamName: string): StreamNow {
  const stream = streams.value?.find((one) => one.streamName === streamName)
  const { whep = 0, hls = 0 } = stream?.viewersByProtocol ?? {}
  const protocols = [whep > 0 ? 'WHEP' : '', hls > 0 ? 'HLS' : ''].filter(Boolean)
  return { stream, isLive: stream !== undefined, viewers: stream?.viewers ?? 0, protocols }
}
