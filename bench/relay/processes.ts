import { median, report } from '../lib/report.ts'
import { arrived, type Measured, measureOnce } from './load.ts'
import { startOurs } from './ours.ts'

const ROUNDS = 3
/** The code that takes a link's packets is compiled after some 10,000 of them. */
const SETTLE_MS = 40_000
/** The most CPU per packet of several processes, of one, by the number of viewers. */
const MOST: Readonly<Record<number, number>> = { 200: 1.15, 400: 1.1 }
const MOST_ADDED_MS = 2

/**
 * CPU per forwarded packet, summed over all processes, of one room whose viewers are spread evenly over `processes`, against all
 * of them in one; and how much later packets arrive from the process that is last. Each pair is measured in turns.
 */
export async function compareProcesses(processes: number, sizes: readonly number[]): Promise<void> {
  for (const viewers of sizes) await compare(processes, viewers)
}

async function compare(processes: number, viewers: number): Promise<void> {
  const [one, several]: [Measured[], Measured[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    one.push(await once(1, viewers))
    several.push(await once(processes, viewers))
  }
  const us = (all: readonly Measured[]): number => median(all.map(({ usPerPacket }) => usPerPacket))
  const p50 = (all: readonly Measured[]): number => median(all.map(({ p50s }) => Math.max(...p50s)))
  const most = MOST[viewers] ?? Number.POSITIVE_INFINITY
  report({
    what: `CPU per packet at ${viewers} viewers, ${processes} processes / 1`,
    ratio: us(several) / us(one),
    target: Number.isFinite(most) ? `at most ${most}` : 'none',
    met: us(several) / us(one) <= most,
    detail: `${us(several).toFixed(2)} µs (${arrived(several)} arrived), ${us(one).toFixed(2)} µs (${arrived(one)} arrived)`,
  })
  const addedMs = p50(several) - p50(one)
  report({
    what: `Added delay at ${viewers} viewers, p50 in ms`,
    ratio: addedMs,
    target: `at most ${MOST_ADDED_MS}`,
    met: addedMs <= MOST_ADDED_MS,
    detail: `${p50(several).toFixed(2)} ms, ${p50(one).toFixed(2)} ms`,
  })
}

async function once(processes: number, viewers: number): Promise<Measured> {
  const viewersEach = Math.ceil(viewers / processes)
  const measured = await measureOnce(() => startOurs('native', { processes, viewersEach }), viewers, SETTLE_MS)
  const { usPerPacket, delivery, delay, p50s } = measured
  const figures = `${usPerPacket.toFixed(2)} µs, ${(delivery * 100).toFixed(1)} % arrived, p99 ${delay.p99.toFixed(1)} ms`
  const byProcess = p50s.map((p50) => p50.toFixed(2)).join(' and ')
  console.log(`${viewers} viewers, ${processes} processes: ${figures}, p50 ${byProcess} ms`)
  return measured
}
