/** What the process that runs tests is asked for. */
export interface Request {
  /** Files that differ from the last time. */
  readonly changed: readonly string[]
  readonly tests: readonly string[]
}

export interface Answer {
  /** The test that failed first; null: all passed. */
  readonly failed: string | null
  readonly ms: number
}
