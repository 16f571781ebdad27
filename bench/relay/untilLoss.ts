import { availableParallelism } from 'node:os'
import { median, report } from '../lib/report.ts'
import type { Forwarder } from './contender.ts'
import { Load, type Measured } from './load.ts'
import { startOurs } from './ours.ts'

const ROUNDS = 2
const STEP = 100
const MOST = 2000
const MAX_LOSS = 0.01
const MAX_P99_MS = 50
/** Viewers with two processes, of those with one, where the load takes no time from them. */
const LEAST_GAIN = 1.7

/** Adds viewers until too much is lost or late. Passes a line for each step, and returns the most viewers without that. */
export type Ramp = (server: Forwarder, tell: (line: string) => void) => Promise<number>

/**
 * How many viewers of one room one and two processes carry: until 1% is lost, or p99 passes 50 ms. In turns.
 * @param ramp where the load runs
 * @param isApart whether that is another machine
 */
export async function compareUntilLoss(ramp: Ramp, isApart: boolean): Promise<void> {
  const [one, two]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    one.push(await carriedBy(1, ramp))
    two.push(await carriedBy(2, ramp))
  }
  const ratio = median(two) / median(one)
  report({
    what: 'Viewers until loss, 2 processes / 1',
    ratio,
    target: isApart ? `at least ${LEAST_GAIN}` : 'none: the load runs on the same cores',
    met: !isApart || ratio >= LEAST_GAIN,
    detail: `${median(two)} and ${median(one)} viewers on ${availableParallelism()} cores`,
  })
}

async function carriedBy(processes: number, ramp: Ramp): Promise<number> {
  // With one viewer each, all processes are over their mark, and further viewers go to the least loaded.
  const server = await startOurs('native', { processes, viewersEach: 1 })
  try {
    return await ramp(server, (line) => console.log(`${processes} processes, ${line}`))
  } finally {
    await server.stop()
  }
}

/** With the load in this process, in steps of `STEP`. */
export const rampHere: Ramp = async (server, tell) => {
  const load = await Load.start(server, MOST)
  try {
    for (let viewers = STEP; viewers <= MOST; viewers += STEP) {
      await load.join(STEP)
      const { delivery, delay, usPerPacket } = await load.measure()
      const figures = `p99 ${delay.p99.toFixed(1)} ms, ${usPerPacket.toFixed(2)} µs`
      tell(`${viewers} viewers: ${(delivery * 100).toFixed(1)} % arrived, ${figures}`)
      if (!isCarried({ delivery, delay })) return viewers - STEP
    }
    return MOST
  } finally {
    await load.close()
  }
}

const isCarried = ({ delivery, delay }: Pick<Measured, 'delivery' | 'delay'>): boolean =>
  delivery >= 1 - MAX_LOSS && delay.p99 <= MAX_P99_MS
