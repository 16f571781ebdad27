import type { Page } from 'playwright-core'
import type { ExpectStatic } from 'vitest'
import { RATE } from './countedPublisher.ts'
import type { Stage } from './sluice.ts'

/** How much of a stream is judged, in frames, after this many at which players begin: video.js shows one and waits. */
export const WATCHED = 8 * RATE
const START = 3 * RATE

interface Shown {
  number: number
  /** Its time in the stream, in seconds of the player. */
  time: number
  /** The start of the piece of the buffer that it is in: a gap begins another piece. */
  pieceFrom: number
  /** The number of frames that the browser had decoded by then. */
  decoded: number
}

/** What a player has shown so far. */
interface Seen {
  frames: Shown[]
  errors: string[]
}

const judgedOf = ({ frames }: Seen): Shown[] =>
  frames.filter(({ number }) => number >= (frames[0]?.number ?? 0) + START)

const over = (frames: readonly Shown[], of: 'number' | 'decoded'): number =>
  (frames.at(-1)?.[of] ?? 0) - (frames[0]?.[of] ?? 0)

/**
 * Judges the stream by what the player made of it, and not by the time that took: on a busy machine a page sees fewer
 * frames, and later. Of a slideshow, a stream that players cannot decode, a sixth of the frames is decoded.
 */
function expectWhole(seen: Seen, expect: ExpectStatic): void {
  const judged = judgedOf(seen)
  const outOfOrder = judged.filter(({ number }, at) => number < (judged[at - 1]?.number ?? 0))
  // Players remove what they have shown, so each frame is compared with the one before it.
  const afterGaps = judged.filter(({ time, pieceFrom }, at) => pieceFrom > (judged[at - 1]?.time ?? time))
  expect({ outOfOrder, afterGaps }).toEqual({ outOfOrder: [], afterGaps: [] })
  expect(over(judged, 'decoded') / over(judged, 'number')).toBeGreaterThan(0.95)
}

export interface Watching {
  stage: Stage
  /** A player of `players.js`. */
  name: string
  url: string
  /** Called with the page before it loads anything. */
  opened?: (page: Page) => void
}

/** Plays eight seconds in a page of its own. Fails unless the player gets and decodes every frame. Returns its errors. */
export async function playsThrough(watching: Watching, expect: ExpectStatic): Promise<string[]> {
  const { stage, opened } = watching
  const page = await stage.browser.newPage()
  opened?.(page)
  try {
    await page.goto(`${stage.origin('page.test')}/players.html`)
    await page.waitForFunction('globalThis.players !== undefined')
    return await playsOn(page, watching, expect)
  } finally {
    await page.close()
  }
}

async function playsOn(page: Page, { name, url }: Watching, expect: ExpectStatic): Promise<string[]> {
  await page.evaluate(`players.play('${name}', '${url}')`)
  let seen: Seen = { frames: [], errors: [] }
  const look = async () => {
    seen = await page.evaluate<Seen>(`players.seen('${name}')`)
    return over(judgedOf(seen), 'number')
  }
  await expect.poll(look).toBeGreaterThan(WATCHED)
  expectWhole(seen, expect)
  return seen.errors
}

/** How many segments the first media playlist of a master playlist lists; 0: there is none yet. */
export async function segmentsListed(url: string): Promise<number> {
  const master = await (await fetch(url)).text()
  const [media] = /^[^#\s]+$/m.exec(master) ?? []
  if (media === undefined) return 0
  const playlist = await (await fetch(new URL(media, url))).text()
  return playlist.match(/^\S*s\d+\.m4s/gm)?.length ?? 0
}
