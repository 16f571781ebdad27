// npm run test:hls -- [--minutes N] [--scenario NAME,NAME … | --url MASTER-PLAYLIST]: watches running HLS streams and lists
// what breaks a rule (see `violation.ts`). Without a URL it starts a server, which must find ffmpeg, with a broadcast over
// RTMP and a playing channel for each scenario (see `scenarios.ts`), and watches both. Exits with 1 on a violation.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { readCommandLine } from '../../scripts/commandLine.ts'
import { endChildren } from '../support/channels.ts'
import { openStream, type Scenario, SCENARIO_NAMES, scenarioOf } from './scenarios.ts'
import { startHlsServer } from './server.ts'
import { validateHls } from './validator.ts'
import { lineOf, type Violation } from './violation.ts'

const { values } = readCommandLine({
  options: {
    minutes: { type: 'string', default: '1' },
    scenario: { type: 'string', default: 'plain' },
    url: { type: 'string' },
  },
})
const seconds = Number(values.minutes) * 60
if (!(seconds > 0)) throw new Error('--minutes must be a number above 0')

const scenarios = values.scenario.split(',').map((name): [string, Scenario] => {
  const scenario = scenarioOf(name)
  if (scenario === null) throw new Error(`there is no scenario ${name}; there are: ${SCENARIO_NAMES.join(', ')}`)
  return [name, scenario]
})

async function watch(name: string, url: string, outageMs = 0): Promise<number> {
  const { violations, seen } = await validateHls({ url, seconds, outageMs })
  console.log(`\n# ${name}: ${violations.length} violations; looked at ${JSON.stringify(seen)}`)
  for (const [rule, found] of Map.groupBy(violations, (violation) => violation.rule)) print(rule, found)
  return violations.length
}

/** A rule that breaks in each playlist would fill the screen. */
const SHOWN = 5

function print(rule: string, found: readonly Violation[]): void {
  for (const violation of found.slice(0, SHOWN)) console.log(lineOf(violation))
  if (found.length > SHOWN) console.log(`${rule}: ${found.length - SHOWN} more`)
}

/** The last disturbance is this long before the end, so that the watch sees what follows. */
const QUIET_MS = 25_000
const DISTURB_EVERY_MS = 60_000
const FIRST_AFTER_MS = 15_000

async function watchOurs(name: string, { source, kinds, outageMs, disturb }: Scenario): Promise<number> {
  const server = await startHlsServer()
  const delay = monitorEventLoopDelay()
  delay.enable()
  const timers: NodeJS.Timeout[] = []
  try {
    const streams = await Promise.all(kinds.map((kind) => openStream(server, kind, source)))
    for (let atMs = FIRST_AFTER_MS; atMs < seconds * 1000 - QUIET_MS; atMs += DISTURB_EVERY_MS)
      timers.push(setTimeout(() => void disturb(server, streams), atMs))
    const counts = await Promise.all(streams.map(({ kind, url }) => watch(`${name}: ${kind}`, url, outageMs)))
    // A validator that was late itself cannot say how late the server was.
    console.log(`the validator was late by ${Math.round(delay.max / 1e6)} ms at most`)
    return counts.reduce((sum, count) => sum + count, 0)
  } finally {
    timers.forEach(clearTimeout)
    endChildren()
    await server.close()
  }
}

let count = 0
if (values.url !== undefined) count = await watch(values.url, values.url)
else for (const [name, scenario] of scenarios) count += await watchOurs(name, scenario)
process.exitCode = count > 0 ? 1 : 0
