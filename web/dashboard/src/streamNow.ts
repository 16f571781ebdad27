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
  const watched = Object.entries(stream?.viewersByProtocol ?? {}).filter(([, viewers]) => viewers > 0)
  const protocols = watched.map(([protocol]) => protocol.toUpperCase())
  return { stream, isLive: stream !== undefined, viewers: stream?.viewers ?? 0, protocols }
}
