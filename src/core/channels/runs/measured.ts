/** What is measured of ingests and engines while they are at work, by the node that has them. */

/** A segment of a rendition. */
export interface RenditionSample {
  /** When it was complete, epoch milliseconds. */
  readonly atMs: number
  /** Pictures a second; null where they could not be counted. */
  readonly framerate: number | null
  /** Bits a second, sound included. */
  readonly bitrate: number
}

/** What came on a connection since the sample before. */
export interface IngestSample {
  readonly atMs: number
  /** Bits a second. */
  readonly bitrate: number
  /** The encoder's address; null where it has none that can be read. */
  readonly address: string | null
}

/** Takes what is measured. */
export interface MeterReading {
  /** A segment of an engine is complete. @param index of its rendition in the ladder */
  segment(engineId: string, rendition: { index: number; name: string }, sample: RenditionSample): void
  /** The source of an ingest answers; to be told of what is received, in bytes so far, where that is known. */
  connected(ingestId: string, address: string | null): MeteredConnection
}

export interface MeteredConnection {
  readonly received: (bytes: number) => void
  readonly ended: () => void
}

/** So long it is kept, milliseconds. */
export const MEASURED_MS = 300_000
