import type { VideoTrack } from '../frame.ts'

/** What this machine can encode beside all that it does already. */
export interface EncodingRoom {
  /** Whether it has room for this video now. */
  readonly isFor: (video: VideoTrack) => boolean
  /** Takes that room, until the result is called. */
  readonly reserve: (video: VideoTrack) => () => void
}

/** Why media is not converted, within a sentence. */
export const NO_ROOM_TO_ENCODE = 'this machine has no room to encode its video now'

/** For those who have asked for room themselves. */
export const ENDLESS_ROOM: EncodingRoom = { isFor: () => true, reserve: () => () => undefined }

/** The room that the video of one broadcast takes while it is encoded. */
export class EncodingSeat {
  readonly #room: EncodingRoom
  #leave: (() => void) | null = null

  constructor(room: EncodingRoom) {
    this.#room = room
  }

  /** Whether viewers get this video encoded: it is, or there is room. */
  isFor(video: VideoTrack): boolean {
    return this.#leave !== null || this.#room.isFor(video)
  }

  /** Takes the room for this video instead of what it has; false: there is none. */
  take(video: VideoTrack): boolean {
    this.leave()
    if (this.#room.isFor(video)) this.#leave = this.#room.reserve(video)
    return this.#leave !== null
  }

  /** Idempotent. */
  leave(): void {
    this.#leave?.()
    this.#leave = null
  }
}
