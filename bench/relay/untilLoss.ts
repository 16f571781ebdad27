import { availableParallelism } from 'node:os'
import { median, report } from '../lib/report.ts'
import { Load, type Measured } from './load.ts'
import { startOurs } from './ours.ts'

const ROUNDS = 2
const STEP = 100
const MOST = 2000
const MAX_LOSS = 0.01
const MAX_P99_MS = 50

/** How many viewers of one room one and two processes carry: until 1% is lost, or p99 passes 50 ms. In turns. */
export async function compareUntilLoss(): Promise<void> {
  const [one, two]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    one.push(await carriedBy(1))
    two.push(await carriedBy(2))
  }
  report({
    what: 'Viewers until loss, 2 processes / 1',
    ratio: median(two) / median(one),
    target: 'none: the load runs on the same cores',
    met: true,
    detail: `${median(two)} and ${median(one)} viewers on ${availableParallelism()} cores`,
  })
}

/** The most viewers without loss, in steps of `STEP`. */
async function carriedBy(processes: number): Promise<number> {
  // With one viewer each, all processes are over their mark, and further viewers go to the least loaded.
  const server = await startOurs('native', { processes, viewersEach: 1 })
  try {
    const load = await Load.start(server, MOST)
    try {
      return await ramp(load, processes)
    } finally {
      await load.close()
    }
  } finally {
    await server.stop()
  }
}

async function ramp(load: Load, processes: number): Promise<number> {
  for (let viewers = STEP; viewers <= MOST; viewers += STEP) {
    await load.join(STEP)
    const { delivery, delay, usPerPacket } = await load.measure()
    const figures = `${(delivery * 100).toFixed(1)} % arrived, p99 ${delay.p99.toFixed(1)} ms, ${usPerPacket.toFixed(2)} µs`
    console.log(`${viewers} viewers, ${processes} processes: ${figures}`)
    if (!isCarried({ delivery, delay })) return viewers - STEP
  }
  return MOST
}

const isCarried = ({ delivery, delay }: Pick<Measured, 'delivery' | 'delay'>): boolean =>
  delivery >= 1 - MAX_LOSS && delay.p99 <= MAX_P99_MS
