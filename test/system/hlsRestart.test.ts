import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openStream } from '../hls/scenarios.ts'
import { type HlsServer, startHlsServer } from '../hls/server.ts'
import { endChildren } from '../support/channels.ts'
import { pace } from '../support/until.ts'

/** After a failure. More often would look like several players. */
const AGAIN_MS = 250
const TIMEOUT_MS = 60_000
/** In place of a status: a redirect without the part that the player waits for. */
const LOST_QUERY = -1

let server: HlsServer
beforeAll(async () => {
  server = await startHlsServer()
})
afterAll(async () => {
  endChildren()
  await server.close()
})

// Another publisher of the same stream would replace the next one's.
afterEach(endChildren)

/** The first media playlist of a stream that plays. */
async function playlistOf(master: string): Promise<string> {
  let text = ''
  await expect
    .poll(
      async () => {
        const answer = await fetch(master)
        text = await answer.text()
        return answer.status
      },
      { timeout: TIMEOUT_MS },
    )
    .toBe(200)
  return new URL(/^[^#].*$/m.exec(text)?.[0] ?? '', master).href
}

/** Requests the playlist that has one segment more, which the server answers when it has it. */
function nextOf(playlist: string): string {
  const [, first = ''] = /^#EXT-X-MEDIA-SEQUENCE:(\d+)$/m.exec(playlist) ?? []
  return first === '' ? '' : `?_HLS_msn=${Number(first) + (playlist.match(/^#EXTINF:/gm)?.length ?? 0)}`
}

/** Reloads a playlist as a player does, until `stop`. Returns each status once, in order; 0: no server answered. */
function reloading(playlist: string): { readonly statuses: number[]; stop(): Promise<void> } {
  const statuses: number[] = []
  const over = new AbortController()
  const load = async (query: string): Promise<[status: number, next: string]> => {
    const answer = await fetch(playlist + query)
    const text = await answer.text()
    // A player keeps the first address, and must not get each answer at once because the stream has another one now.
    const hasLostQuery = answer.redirected && new URL(answer.url).search !== query
    return [hasLostQuery ? LOST_QUERY : answer.status, answer.ok ? nextOf(text) : query]
  }
  const loop = (async () => {
    let next = ''
    while (!over.signal.aborted) {
      const [status, following] = await load(next).catch((): [number, string] => [0, next])
      if (status !== statuses.at(-1)) statuses.push(status)
      next = following
      if (status !== 200) await pace(AGAIN_MS)
    }
  })()
  return {
    statuses,
    stop: () => {
      over.abort()
      return loop
    },
  }
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'players that reload a playlist while the server restarts after %s are told to try again, and get it',
  async (signal) => {
    const streams = await Promise.all([
      openStream(server, 'broadcast', 'plain'),
      openStream(server, 'channel', 'plain'),
    ])
    const playlists = await Promise.all(streams.map(({ url }) => playlistOf(url)))
    const players = playlists.map(reloading)
    const isPlaying = () => players.map(({ statuses }) => statuses.at(-1))
    await expect.poll(isPlaying, { timeout: TIMEOUT_MS }).toEqual([200, 200])
    await server.restart(signal)
    await expect.poll(isPlaying, { timeout: TIMEOUT_MS }).toEqual([200, 200])
    for (const player of players) {
      await player.stop()
      const { statuses } = player
      // hls.js requests nothing again after a refusal such as 401 or 404.
      expect(statuses.filter((status) => ![0, 200, 503].includes(status))).toEqual([])
      expect(statuses.length).toBeGreaterThan(2)
    }
  },
  240_000,
)
