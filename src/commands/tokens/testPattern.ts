import { err, ok, type Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import { compilePattern, type Pattern } from '../../core/access/streamName.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { readPatternTest, TESTED_NAMES_MAX } from '../../core/tokens/patternTest.ts'
import type { CommandContext } from '../context.ts'

export interface PatternAnswer {
  readonly isValid: boolean
  readonly error?: string
  readonly matches: readonly string[]
  readonly misses: readonly string[]
  readonly source: 'given' | 'recent'
  readonly isComplete: boolean
}

/** Tries a pattern on the given names, or on names of streams that were published recently. */
export async function testPattern(
  ctx: CommandContext,
  accountId: string,
  body: unknown,
): Promise<Result<PatternAnswer, Failure>> {
  const read = readPatternTest(body)
  if (!read.ok) return err(invalid(read.error))
  const { pattern: text, streamNames: given } = read.value
  const pattern = compilePattern(text)
  const source = given === null ? 'recent' : 'given'
  if (!pattern.ok)
    return ok({ isValid: false, error: pattern.error, matches: [], misses: [], source, isComplete: true })
  const names = given ?? (await ctx.store.read.feeds.recentNames(accountId, TESTED_NAMES_MAX + 1))
  const tried = names.slice(0, TESTED_NAMES_MAX)
  return ok({
    isValid: true,
    ...(await inTurns(sorted(pattern.value, tried))),
    source,
    isComplete: tried.length === names.length,
  })
}

function* sorted(
  pattern: Pattern,
  names: readonly string[],
): Generator<undefined, Pick<PatternAnswer, 'matches' | 'misses'>> {
  const matches = new Set<string>()
  for (const name of names) {
    if (pattern.matches(name)) matches.add(name)
    yield
  }
  return { matches: [...matches], misses: names.filter((name) => !matches.has(name)) }
}
