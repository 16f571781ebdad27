import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { endChildren, pushTo, workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { command, endServers, newDirectory, serve, type Served } from '../system/cliProcess.ts'

const dir = newDirectory()
afterEach(() => {
  endChildren()
  endServers()
  rmSync(dir, { recursive: true, force: true })
})

interface Client {
  server: Served
  /** `data` of an accepted request. */
  v2: (method: string, path: string, body?: unknown) => Promise<ReturnType<typeof JSON.parse>>
  push: (streamKey: string) => void
}

async function startServer(credential: string): Promise<Client> {
  const server = await serve(['--data', dir])
  const taking = server
    .log()
    .split('\n')
    .find((line) => line.includes('"taking RTMP"'))
  const { port } = JSON.parse(taking ?? '{}') as { port: number }
  const headers = {
    authorization: `Basic ${Buffer.from(credential).toString('base64')}`,
    'content-type': 'application/json',
  }
  return {
    server,
    push: (streamKey) => void pushTo(`rtmp://127.0.0.1:${port}/live/${streamKey}`),
    async v2(method, path, body) {
      const init = body === undefined ? { headers: { authorization: headers.authorization } } : { headers }
      const answer = await fetch(`${server.url}/v2${path}`, { method, ...init, body: JSON.stringify(body) ?? null })
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
      return text === '' ? undefined : (JSON.parse(text) as { data: unknown }).data
    },
  }
}

async function makeChannel({ v2 }: Client) {
  const ladder = await v2('POST', '/abr', { name: 'tiny', video: [{ width: 160, height: 90, bitrate: 100_000 }] })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  return v2('POST', '/channels', {
    name: 'Stage',
    ingests: [{ name: 'Camera', type: 'rtmp-push', engines }],
    distributions: [{ name: 'Web' }],
  })
}

/** Fetches a segment. Returns the sequence numbers of the playlist: of segments and of discontinuities. */
async function plays({ server }: Client, distributionId: string): Promise<[number, number]> {
  const at = (path: string): string =>
    new URL(path, `${server.url}/v2/distributions/${distributionId}/hls/main.m3u8`).href
  const firstUri = async (url: string): Promise<string> => /^[^#\s]+$/m.exec(await (await fetch(url)).text())?.[0] ?? ''
  const media = at(await firstUri(at('')))
  const segment = await fetch(new URL(await firstUri(media), media))
  expect([segment.status, (await segment.arrayBuffer()).byteLength > 1000]).toEqual([200, true])
  const playlist = await (await fetch(media)).text()
  const numberOf = (tag: string): number => Number(new RegExp(`${tag}-SEQUENCE:(\\d+)`).exec(playlist)?.[1])
  return [numberOf('MEDIA'), numberOf('DISCONTINUITY')]
}

test('a server that is killed while a channel plays leaves no process; the next one ends the run, removes old files, and plays', async () => {
  const credential = (await command(['--data', dir, 'credential', 'create', '--name', 'test'])).stdout.trim()
  const first = await startServer(credential)
  const channel = await makeChannel(first)
  const [{ id: engineId }, { streamKey }, { id: distributionId }] = [
    channel.engines[0],
    channel.ingests[0],
    channel.distributions[0],
  ]
  const reaches = (client: Client, status: string): Promise<true> =>
    until(async () => (await client.v2('GET', `/channels/${channel.id}`)).status === status, status)
  await first.v2('POST', `/channels/${channel.id}/start`)
  first.push(streamKey)
  await reaches(first, 'playing')
  const folder = join(dir, 'channels', engineId)
  const earlier = join(dir, 'channels', 'en_of_an_earlier_version', '0')
  mkdirSync(earlier, { recursive: true })
  writeFileSync(join(earlier, 'index.m3u8'), '#EXTM3U')
  expect(await workingIn(folder)).toHaveLength(1)
  const before = await plays(first, distributionId)

  first.server.signal('SIGKILL')
  await first.server.ended
  const killedAtMs = Date.now()
  endChildren()
  await until(async () => (await workingIn(folder)).length === 0, 'the end of what the server had started')
  writeFileSync(join(folder, 'slate'), 'a file that was being read')

  const second = await startServer(credential)
  await reaches(second, 'waiting')
  expect(await readdir(folder)).toEqual([])
  expect(existsSync(earlier)).toBe(false)
  const [open, ended] = await second.v2('GET', `/channels/${channel.id}/runs`)
  expect(ended).toMatchObject({ startType: 'api', stopType: 'error' })
  expect(Date.parse(ended.end)).toBeLessThanOrEqual(killedAtMs)
  expect(open).toMatchObject({ startType: 'api', startId: ended.startId })
  expect(open.end).toBeUndefined()
  second.push(streamKey)
  await reaches(second, 'playing')
  const after = await plays(second, distributionId)
  // A player that stayed finds a later segment after a discontinuity, so it goes on.
  expect([after[0] > before[0], after[1] > before[1]]).toEqual([true, true])
  second.server.signal('SIGTERM')
  expect(await second.server.ended).toBe(0)
  expect(existsSync(join(dir, 'channels'))).toBe(false)
})
