import { randomBytes } from 'node:crypto'

/** Randomness as an argument. Production passes `systemRandom`, a test may pass a seeded source. */
export interface Random {
  /** `count` unpredictable bytes. */
  bytes(count: number): Buffer
}

/** From 0 to 1, without 1. */
export const fraction = (random: Random): number => random.bytes(4).readUInt32BE() / 2 ** 32

export const systemRandom: Random = { bytes: (count) => randomBytes(count) }
