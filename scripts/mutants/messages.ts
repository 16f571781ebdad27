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

/** In the folder of the copy: the numbers of the mutants that `rerun.ts` has to try, and line by line what came of them. */
export const WANTED = 'mutants-todo.json'
export const DONE = 'mutants-done.txt'
