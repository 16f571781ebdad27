/**
 * CPU per forwarded packet. Compares the relay, in JavaScript alone and with its part in C, with Janus (videoroom), with
 * Pion and with node-datachannel as relays. One publisher of 2.5 Mbit/s and 10, 40 and 200 viewers, the same for all, in
 * one run. Also compares with the floor: a loop in C that only encrypts and sends. Leaves out what is not installed:
 * Janus, Pion, the loop in C.
 *   node bench/relay.ts [VIEWERS …]
 */
import { measureBare } from './relay/bare.ts'
import type { Contender } from './relay/contender.ts'
import { startDatachannel } from './relay/datachannel.ts'
import { hasJanus, startJanus } from './relay/janus.ts'
import { type Measured, measure, PACKET } from './relay/load.ts'
import { startOurs } from './relay/ours.ts'
import { buildPion, startPion } from './relay/pion.ts'
import { median, report } from './lib/report.ts'

const BITRATE = 2_500_000
const WINDOW_MS = 4000
/** Two rounds where a round is short. */
const roundsOf = (viewers: number): number => (viewers > 100 ? 1 : 2)

/** The most of Pion's CPU, by the number of viewers. */
const PION_MOST: Readonly<Record<'js' | 'native', Readonly<Record<number, number>>>> = {
  js: { 40: 1, 200: 1 },
  native: { 10: 0.5, 40: 0.35, 200: 0.4 },
}

const withoutPion = buildPion()
if (withoutPion !== null) console.log(`Pion is left out: ${withoutPion}`)

const contenders: Readonly<Record<string, () => Promise<Contender>>> = {
  js: () => startOurs('js'),
  native: () => startOurs('native'),
  datachannel: startDatachannel,
  ...(hasJanus() ? { janus: startJanus } : {}),
  ...(withoutPion === null ? { pion: startPion } : {}),
}

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 40, 200]
for (const viewers of sizes) await compare(viewers)
// The other stack leaves threads running.
process.exit()

async function compare(viewers: number): Promise<void> {
  const found = new Map<string, Measured[]>()
  for (let round = 0; round < roundsOf(viewers); round++) {
    for (const [name, start] of Object.entries(contenders)) {
      const measured = await once(start, viewers).catch((error: Error) => error)
      const result = measured instanceof Error ? measured.message : `${measured.usPerPacket.toFixed(1)} µs`
      console.log(`${viewers} viewers, ${name}: ${result}`)
      if (measured instanceof Error) continue
      found.set(name, [...(found.get(name) ?? []), measured])
    }
  }
  const us = (name: string): number => median((found.get(name) ?? []).map(({ usPerPacket }) => usPerPacket))
  const summary = (name: string): string =>
    `${name} ${us(name).toFixed(1)} µs (${arrived(found.get(name) ?? [])} arrived)`
  const against = (name: string, other: string, most = Number.POSITIVE_INFINITY): void => {
    if (!found.has(other)) return
    const ratio = us(name) / us(other)
    const what = `CPU per packet at ${viewers} viewers, ${name} / ${other}`
    report({
      what,
      ratio,
      target: Number.isFinite(most) ? `at most ${most}` : 'none',
      met: ratio <= most,
      detail: `${summary(name)}, ${summary(other)}`,
    })
  }
  against('js', 'janus', 0.7)
  against('js', 'pion', PION_MOST.js[viewers])
  against('native', 'pion', PION_MOST.native[viewers])
  against('native', 'datachannel', 0.8)
  const floor = await measureBare(Math.min(viewers, 256), PACKET)
  if (floor === null) return
  const ratio = us('native') / floor
  const what = `CPU per packet at ${viewers} viewers, native / bare loop in C`
  report({ what, ratio, target: 'none', met: true, detail: `${summary('native')}, floor ${floor.toFixed(1)} µs` })
}

async function once(start: () => Promise<Contender>, viewers: number): Promise<Measured> {
  const server = await start()
  try {
    return await measure(server, viewers, BITRATE, WINDOW_MS)
  } finally {
    await server.stop()
  }
}

function arrived(all: readonly Measured[]): string {
  return `${Math.round(median(all.map(({ delivery }) => delivery)) * 100)} %`
}
