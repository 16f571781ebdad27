import { setTimeout as delay } from 'node:timers/promises'

const LOOK_MS = 3000

/** Players of one stream over HLS, each from an address of its own, until `signal` ends them. */
export function watchHls(url: string, addresses: readonly string[], signal: AbortSignal): void {
  for (const address of addresses) void play(url, address, signal).catch(() => undefined)
}

async function play(url: string, address: string, signal: AbortSignal): Promise<void> {
  const get = (from: string | URL) => fetch(from, { headers: { 'x-forwarded-for': address }, signal })
  // The address that a player is given is its session.
  const { url: own } = await follow(url, get)
  while (!signal.aborted) {
    const playlist = await follow(own, get)
    const segment = playlist.text.split('\n').findLast((line) => line !== '' && !line.startsWith('#'))
    if (segment !== undefined) await (await get(new URL(segment, playlist.url))).arrayBuffer()
    await delay(LOOK_MS)
  }
}

/** From the playlist of variants to that of the first one. */
async function follow(from: string, get: (url: string) => Promise<Response>): Promise<{ url: string; text: string }> {
  const response = await get(from)
  const text = await response.text()
  if (!text.includes('#EXT-X-STREAM-INF')) return { url: response.url, text }
  const variant = text.split('\n').find((line) => line !== '' && !line.startsWith('#')) ?? ''
  return follow(new URL(variant, response.url).href, get)
}
