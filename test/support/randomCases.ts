import * as fc from 'fast-check'

/** In tenths of all cases: 10 for all, 100 for ten times as many. Each run of the tests has others. */
const tenths = Number(process.env['FUZZ_RUNS'] ?? 1)

// What fast-check prints with a failure.
const seed = process.env['FUZZ_SEED']
if (seed !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })

/** How many cases a test tries, when all of them are `all`: at least ten. */
export const cases = (all: number): { numRuns: number } => ({ numRuns: Math.max(10, Math.ceil((all * tenths) / 10)) })
