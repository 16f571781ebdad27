import { randomBytes } from 'node:crypto'

/** Randomness as an argument. Production passes `systemRandom`, a test may pass a seeded source. */
export interface Random {
  /** `count` unpredictable bytes. */
  bytes(count: number): Buffer
}

export const systemRandom: Random = { bytes: (count) => randomBytes(count) }
