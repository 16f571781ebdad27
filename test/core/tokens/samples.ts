import { readTokenCreate } from '../../../src/core/tokens/create.ts'
import type { Token, TokenRules } from '../../../src/core/tokens/types.ts'
import type { Result } from '../../../src/base/result.ts'

/** A stored token with the rules of a minimal create, plus the overrides of a test. */
export function aToken(changes: Partial<Token> = {}): Token {
  const kind = changes.kind ?? 'publish'
  const rules: TokenRules = value(readTokenCreate(kind, plainBody())).rules
  return {
    ...rules,
    id: 7,
    kind,
    accountId: 'a1b2c3',
    addedAtMs: Date.UTC(2026, 0, 31, 9, 30),
    expiresAtMs: null,
    version: 1,
    revokedBeforeMs: null,
    ...changes,
  }
}

export const plainBody = (changes: object = {}) => ({
  label: 'Studio',
  streams: [{ streamName: 'studio' }],
  ...changes,
})

/** The value of a result that must be ok. */
export function value<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

/** The error of a result that must be a refusal. */
export function error<E>(result: Result<unknown, E>): E {
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`)
  return result.error
}
