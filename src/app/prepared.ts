import { err, ok, type Result } from '../base/result.ts'
import type { Config } from '../config/schema.ts'

/** What a part has opened for another configuration. Exactly one of the two is called. */
export interface Prepared {
  /** Uses it, when the configuration has changed. */
  readonly take: () => void
  /** Closes it: the configuration stays. */
  readonly drop: () => void
}

/** Opens what a part needs for another configuration. The error is a sentence for the operator. */
export type Prepare = (next: Config) => Result<Prepared, string> | Promise<Result<Prepared, string>>

/** Nothing that a part has opened depends on what changed. */
export const NOTHING_PREPARED: Prepared = { take: () => undefined, drop: () => undefined }

/** Prepares every part. The errors are of all parts that cannot; then the others have closed what they opened. */
export async function prepareAll(parts: readonly Prepare[], next: Config): Promise<Result<Prepared, string[]>> {
  const prepared: Prepared[] = []
  const problems: string[] = []
  for (const prepare of parts) {
    const done = await prepare(next)
    if (done.ok) prepared.push(done.value)
    else problems.push(done.error)
  }
  const each = (call: (one: Prepared) => void) => (): void => prepared.forEach(call)
  const all = { take: each(({ take }) => take()), drop: each(({ drop }) => drop()) }
  if (problems.length === 0) return ok(all)
  all.drop()
  return err(problems)
}
