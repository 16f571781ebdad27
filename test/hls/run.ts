// npm run test:hls -- [--minutes N] [--source NAME,NAME … | --url MASTER-PLAYLIST]: watches running HLS streams and lists
// what breaks a rule (see `violation.ts`). Without a URL it starts a server, which must find ffmpeg, with a broadcast over
// RTMP and a playing channel of each source (see `sources.ts`), and watches both. Exits with 1 on a violation.
import { parseArgs } from 'node:util'
import { endChildren, until } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { makeToken } from '../support/testNode.ts'
import { isSource, pushSource, type SourceName, SOURCES } from './sources.ts'
import { validateHls } from './validator.ts'
import { lineOf, type Violation } from './violation.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    source: { type: 'string', default: 'plain' },
    url: { type: 'string' },
  },
})
const seconds = Number(values.minutes) * 60
if (!(seconds > 0)) throw new Error('--minutes must be a number above 0')

const sources = values.source.split(',').map((name): SourceName => {
  if (!isSource(name)) throw new Error(`there is no source ${name}; there are: ${Object.keys(SOURCES).join(', ')}`)
  return name
})

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
async function broadcast({ running }: ChannelsClient, source: SourceName): Promise<string> {
  const { token } = await makeToken(running, 'publish')
  pushSource(source, `rtmp://127.0.0.1:${running.rtmpPort}/v2/pub/show?token=${token}`)
  const url = `${running.base}/hls/${running.accountId}/show/index.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the broadcast')
  return url
}

/** The master playlist of a channel with two renditions. */
async function channel(client: ChannelsClient, source: SourceName): Promise<string> {
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
  pushSource(source, `rtmp://127.0.0.1:${running.rtmpPort}/live/${inputs[0].streamKey}`)
  const url = `${running.base}/v2/distributions/${distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  return url
}

/** Channels play only sources with video. */
const opened = (client: ChannelsClient, source: SourceName): Record<string, Promise<string>> => ({
  broadcast: broadcast(client, source),
  ...(SOURCES[source].rate === null ? {} : { channel: channel(client, source) }),
})

async function watchOurs(source: SourceName): Promise<number> {
  const client = await runChannels()
  try {
    const streams = Object.entries(opened(client, source))
    const counts = await Promise.all(streams.map(async ([name, url]) => watch(`${source}: ${name}`, await url)))
    return counts.reduce((sum, count) => sum + count, 0)
  } finally {
    endChildren()
    await client.close()
  }
}

let count = 0
if (values.url !== undefined) count = await watch(values.url, values.url)
else for (const source of sources) count += await watchOurs(source)
process.exitCode = count > 0 ? 1 : 0
