import type { Environment } from '../client/environment.ts'
import type { SluiceError, StartedAs } from '../client/index.ts'

/** How the media comes. */
export type Delivery = 'whep' | 'hls'

/**
 * `waiting`: the stream has no publisher. `interrupted`: there was media, and it will come back by itself or not at all.
 */
export type PlaybackState = 'connecting' | 'waiting' | 'playing' | 'interrupted'

/** A rendition that a viewer can choose. */
export interface Level {
  readonly id: number
  readonly label: string
}

export const kilobits = (bitrate: number): string => `${Math.round(bitrate / 1000)} kbit/s`

/** What a player shows about its media. */
export interface Figures {
  /** Bits per second; 0: not known. */
  readonly bitrate: number
  /** In pixels; 0: not known. */
  readonly width: number
  readonly height: number
  readonly framesPerSecond: number | null
  /** '': not known. */
  readonly codecs: string
  /** 0 to 1; null over HLS, where nothing can be lost. */
  readonly loss: number | null
  readonly roundTripMs: number | null
  /** Media that waits to be shown. */
  readonly bufferSeconds: number | null
  /** Frames that came and were not shown. */
  readonly dropped: number | null
  /** Null: not known. */
  readonly behindSeconds: number | null
}

/** What a playback needs of its player, and reports to it. */
export interface PlaybackTarget {
  readonly video: HTMLVideoElement
  readonly environment: Environment
  /** WHEP: the endpoint. HLS: the master playlist. */
  readonly url: string
  readonly token: string
  readonly sourceId: string
  /** HLS: the playlist may have renditions and engines to change to, which only the full build of hls.js does. */
  readonly hasVariants: boolean
  /** Whether it reports to the server how well it plays. */
  readonly reports: boolean
  /** When the user wanted to play, and how the protocol changed since. */
  readonly startedAs: StartedAs
  readonly onState: (state: PlaybackState, reason: SluiceError | null) => void
  /** It is over for good, or cannot begin. */
  readonly onEnd: (reason: SluiceError) => void
  /** The video element has new media: play it. */
  readonly onMedia: () => void
  /** Renditions to choose from, and the chosen one; -1: automatic. A single level -1: the browser chooses by itself. */
  readonly onLevels: (levels: readonly Level[], chosen: number) => void
}

/** Media in a video element, by one protocol. It comes back by itself after interruptions. */
export interface Playback {
  readonly delivery: Delivery
  /** Since when it tries to show a picture, by `environment.now()`; now, if it shows one. */
  readonly wantedAtMs: number
  start(): void
  /** Ends the session and takes the media from the video element. */
  stop(): void
  /** -1: automatic. */
  choose(level: number): void
  /** Asks which levels there are now, and tells them to `onLevels`. */
  lookForLevels(): void
  figures(): Promise<Figures | null>
}
