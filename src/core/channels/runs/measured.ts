/** Measurements of active ingests and engines, by the node that runs them. */

/** A segment of a rendition. */
export interface RenditionSample {
  /** When it was complete, epoch milliseconds. */
  readonly atMs: number
  /** Frames per second; null where they could not be counted. */
  readonly framerate: number | null
  /** Bits per second, including audio. */
  readonly bitrate: number
}

/** The data received on a connection since the previous sample. */
export interface IngestSample {
  readonly atMs: number
  /** Bits per second. */
  readonly bitrate: number
  /** The publisher's address; null when it is unknown. */
  readonly address: string | null
  /** Share of the packets that did not come at first, from 0 to 1; null: the protocol does not count them. */
  readonly packetLoss: number | null
  /** Milliseconds; null: the protocol does not tell it. */
  readonly roundTripMs: number | null
}

/** Totals since the connection began. */
export interface LinkCounts {
  readonly packets: number
  readonly lost: number
  readonly roundTripMs?: number
}

/** Receives measurements. */
export interface MeterReading {
  /**
   * A segment of an engine is complete.
   * @param index of its rendition in the ladder
   */
  segment(engineId: string, rendition: { index: number; name: string }, sample: RenditionSample): void
  /** The source of an ingest has answered. Report its received bytes so far to the result, where they are known. */
  connected(ingestId: string, address: string | null): MeteredConnection
}

export interface MeteredConnection {
  readonly received: (bytes: number, link?: LinkCounts) => void
  readonly ended: () => void
}

/** How long measurements are kept, milliseconds. */
export const MEASURED_MS = 300_000
