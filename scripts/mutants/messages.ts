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

/** What `rerun.ts` has to try, with the tests that take no longer than this. */
export interface Wanted {
  readonly ids: readonly number[]
  readonly mostMs: number
}

/** In the folder of the copy: a `Wanted`, and line by line what came of its mutants. */
export const WANTED = 'mutants-wanted.json'
export const DONE = 'mutants-done.txt'
