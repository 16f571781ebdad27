import type { Page } from 'playwright-core'
import type { ExpectStatic } from 'vitest'
import { type CountedEncoder, RATE } from './countedEncoder.ts'
import type { Stage } from './sluice.ts'

/** Eight seconds in which something else needs the processor say nothing about the stream; a slideshow always is one. */
export const ATTEMPTS = { retry: 2 }
/** Time for a player to fill its buffer. video.js shows one frame and waits. */
const START = 3 * RATE
/** How long playback is judged, in frames. */
export const WATCHED = 8 * RATE

interface Shown {
  number: number
  /** The number of frames that the browser had decoded by then. */
  decoded: number
}

interface Seen {
  frames: Shown[]
  errors: string[]
}

/** A stretch of playback, in frames. */
interface Watched {
  /** The share of frames that were decoded. */
  decoded: number
  /** The largest gap between two shown frames. */
  leap: number
  /** The greatest delay behind the encoder, compared with the smallest. */
  delayed: number
}

function watchedIn(frames: readonly Shown[], lags: readonly number[]): Watched {
  const [first, last] = [frames[0], frames.at(-1)]
  const leaps = frames.slice(1).map(({ number }, index) => number - (frames[index]?.number ?? 0))
  const span = (last?.number ?? 0) - (first?.number ?? 0)
  return {
    decoded: ((last?.decoded ?? 0) - (first?.decoded ?? 0)) / span,
    leap: Math.max(...leaps),
    delayed: Math.max(...lags) - Math.min(...lags),
  }
}

/** A slideshow decodes a sixth of the frames, has gaps of over three seconds and falls behind as much. */
const isSmooth = ({ decoded, leap, delayed }: Watched): boolean => decoded > 0.95 && leap <= RATE && delayed <= 2 * RATE

/** How many frames a player that has shown these is behind. */
export const lagOf = (encoder: CountedEncoder, numbers: readonly number[]): number =>
  encoder.latest() - (numbers.at(-1) ?? 0)

export interface Watching {
  stage: Stage
  /** A player of `players.js`. */
  name: string
  url: string
  encoder: CountedEncoder
  /** Called with the page before it loads anything. */
  opened?: (page: Page) => void
}

/** Plays for eight seconds in a page of its own. Fails if that is not smooth. Returns the errors of the player. */
export async function playsSmoothly(watching: Watching, expect: ExpectStatic): Promise<string[]> {
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

async function playsOn(page: Page, { name, url, encoder }: Watching, expect: ExpectStatic): Promise<string[]> {
  await page.evaluate(`players.play('${name}', '${url}')`)
  const lags: number[] = []
  let seen: Seen = { frames: [], errors: [] }
  const watched = () => {
    const from = (seen.frames[0]?.number ?? 0) + START
    return seen.frames.filter(({ number }) => number >= from)
  }
  const look = async () => {
    seen = await page.evaluate<Seen>(`players.seen('${name}')`)
    const numbers = watched().map(({ number }) => number)
    if (numbers.length > 0) lags.push(lagOf(encoder, numbers))
    return (numbers.at(-1) ?? 0) - (numbers[0] ?? 0)
  }
  await expect.poll(look, { timeout: 60_000, interval: 500 }).toBeGreaterThan(WATCHED)
  expect(watchedIn(watched(), lags)).toSatisfy(isSmooth)
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
