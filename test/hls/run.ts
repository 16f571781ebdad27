// npm run test:hls -- [--minutes N] [--url MASTER-PLAYLIST]: watches running HLS streams and lists what breaks a rule (see
// `violation.ts`). Without a URL it starts a server, which must find ffmpeg, with a broadcast over RTMP and a playing
// channel, and watches both. Exits with 1 on a violation.
import { parseArgs } from 'node:util'
import { endChildren, pushTo, until } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { makeToken } from '../support/testNode.ts'
import { validateHls } from './validator.ts'
import { lineOf, type Violation } from './violation.ts'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '1' }, url: { type: 'string' } } })
const seconds = Number(values.minutes) * 60
if (!(seconds > 0)) throw new Error('--minutes must be a number above 0')

async function watch(name: string, url: string): Promise<number> {
  const { violations, seen } = await validateHls({ url, seconds })
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

/** The master playlist of a broadcast with a publish token. */
async function broadcast({ running }: ChannelsClient): Promise<string> {
  const { token } = await makeToken(running, 'publish')
  pushTo(`rtmp://127.0.0.1:${running.rtmpPort}/v2/pub/show?token=${token}`)
  const url = `${running.base}/hls/${running.accountId}/show/index.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the broadcast')
  return url
}

/** The master playlist of a channel with two renditions. */
async function channel(client: ChannelsClient): Promise<string> {
  const { running } = client
  const video = [
    { width: 320, height: 180, bitrate: 300_000 },
    { width: 160, height: 90, bitrate: 100_000 },
  ]
  const ladder = await client.made('POST', '/abr', { name: 'small', video })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const {
    id,
    ingests: inputs,
    distributions,
  } = await client.made('POST', '/channels', {
    name: 'Stage',
    ingests,
    distributions: [{ name: 'Web' }],
  })
  await client.made('POST', `/channels/${id}/start`)
  pushTo(`rtmp://127.0.0.1:${running.rtmpPort}/live/${inputs[0].streamKey}`)
  const url = `${running.base}/v2/distributions/${distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  return url
}

async function watchOurs(): Promise<number> {
  const client = await runChannels()
  try {
    const [feed, stage] = await Promise.all([broadcast(client), channel(client)])
    const counts = await Promise.all([watch('broadcast', feed), watch('channel', stage)])
    return counts.reduce((sum, count) => sum + count, 0)
  } finally {
    endChildren()
    await client.close()
  }
}

const count = values.url === undefined ? await watchOurs() : await watch(values.url, values.url)
process.exitCode = count > 0 ? 1 : 0
