import type { PasswordCost } from '../../src/base/password.ts'

/** Hashed at once: few tests are about the cost of a guess. */
export const CHEAP_PASSWORDS: PasswordCost = { costLog2: 4, blockSize: 8, parallel: 1 }
