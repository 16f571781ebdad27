/** A header between nodes: how long the piece in the answer plays, milliseconds. */
export const PLAYS_MS = 'x-sluice-plays-ms'
