/** A header between nodes: how long the piece in the answer plays, milliseconds. */
export const PLAYS_MS = 'x-sluice-plays-ms'

/** What another node answered. */
export interface NodeAnswer {
  readonly status: number
  readonly caching: string
  /** How long a piece plays, milliseconds; 0 for everything else. */
  readonly playsMs: number
  readonly body: Buffer
}
