/**
 * CPU per forwarded packet. Compares the relay, in JavaScript alone and with its part in C, with Janus (videoroom), with
 * Pion and with node-datachannel as relays. One publisher of 2.5 Mbit/s and 10, 40 and 200 viewers, the same for all, in
 * one run. Also compares with the floor: a loop in C that only encrypts and sends. Leaves out what is not installed:
 * Janus, Pion, the loop in C.
 *   node bench/relay.ts [VIEWERS …]
 * With --processes, compares our own engine with so many relay processes, which share one room, with one of them: see
 * relay/processes.ts. With --viewers-until-loss, counts how many viewers one and two processes carry: see relay/untilLoss.ts.
 *   node bench/relay.ts --processes 2 [VIEWERS …]
 *   node bench/relay.ts --viewers-until-loss
 * These viewers may be on another machine, which waits for the bench: see relay/loadHost.ts.
 *   node bench/relay.ts --load 9900
 *   node bench/relay.ts --viewers-until-loss --load-host ADDRESS:9900
 */
import { readCommandLine } from '../scripts/commandLine.ts'
import { measureBare } from './relay/bare.ts'
import type { Contender } from './relay/contender.ts'
import { startDatachannel } from './relay/datachannel.ts'
import { hasJanus, startJanus } from './relay/janus.ts'
import { arrived, type Measured, measureOnce, PACKET } from './relay/load.ts'
import { startOurs } from './relay/ours.ts'
import { buildPion, startPion } from './relay/pion.ts'
import { rampAt, serveLoad } from './relay/loadHost.ts'
import { compareProcesses } from './relay/processes.ts'
import { compareUntilLoss, rampHere } from './relay/untilLoss.ts'
import { median, report } from './lib/report.ts'

/** Two rounds where a round is short. */
const roundsOf = (viewers: number): number => (viewers > 100 ? 1 : 2)

/** The most of Pion's CPU, by the number of viewers. */
const PION_MOST: Readonly<Record<'js' | 'native', Readonly<Record<number, number>>>> = {
  js: { 40: 1, 200: 1 },
  native: { 10: 0.5, 40: 0.35, 200: 0.4 },
}

const { values, positionals } = readCommandLine({
  options: {
    processes: { type: 'string' },
    'viewers-until-loss': { type: 'boolean' },
    load: { type: 'string' },
    'load-host': { type: 'string' },
  },
  allowPositionals: true,
})
const sizes = positionals.map(Number)
const loadHost = values['load-host']
if (values.load !== undefined) await serveLoad(Number(values.load))
else if (values['viewers-until-loss'] === true)
  await compareUntilLoss(loadHost === undefined ? rampHere : rampAt(loadHost), loadHost !== undefined)
else if (values.processes !== undefined)
  await compareProcesses(Number(values.processes), sizes.length > 0 ? sizes : [200, 400])
else await compareServers(sizes.length > 0 ? sizes : [10, 40, 200])
// The other stack leaves threads running.
process.exit()

async function compareServers(all: readonly number[]): Promise<void> {
  const withoutPion = buildPion()
  if (withoutPion !== null) console.log(`Pion is left out: ${withoutPion}`)
  const contenders: Readonly<Record<string, () => Promise<Contender>>> = {
    js: () => startOurs('js'),
    native: () => startOurs('native'),
    datachannel: startDatachannel,
    ...(hasJanus() ? { janus: startJanus } : {}),
    ...(withoutPion === null ? { pion: startPion } : {}),
  }
  for (const viewers of all) await compare(contenders, viewers)
}

async function compare(contenders: Readonly<Record<string, () => Promise<Contender>>>, viewers: number): Promise<void> {
  const found = new Map<string, Measured[]>()
  for (let round = 0; round < roundsOf(viewers); round++) {
    for (const [name, start] of Object.entries(contenders)) {
      const measured = await measureOnce(start, viewers).catch((error: Error) => error)
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
