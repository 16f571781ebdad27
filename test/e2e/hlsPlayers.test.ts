import type { Page } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { until } from '../support/testNode.ts'
import { type CountedEncoder, countedEncoder, RATE } from './countedEncoder.ts'
import { isMissing, NATIVE, playNatively } from './nativePlayers.ts'
import { setStage, type Stage } from './sluice.ts'

// One stream, one server, one browser; all players watch at the same time.

/** Time for a player to fill its buffer. video.js shows one frame and waits. */
const START = 3 * RATE
const WATCHED = 8 * RATE

let stage: Stage
let encoder: CountedEncoder
let page: Page
let url: string

beforeAll(async () => {
  stage = await setStage()
  const { token } = await stage.token('publish', { streams: [{ streamName: 'counted' }] })
  encoder = countedEncoder(stage.rtmp('counted', token))
  url = stage.hls('counted')
  page = await stage.browser.newPage()
  await page.goto(`${stage.origin('page.test')}/players.html`)
  await page.waitForFunction('globalThis.players !== undefined')
  // Shaka 5.2.12 fails on a shorter playlist: it looks for captions in the incomplete segment.
  await until(async () => (await segmentsListed()) >= 3)
})
afterAll(async () => {
  encoder.stop()
  await stage.close()
})

async function segmentsListed(): Promise<number> {
  const master = await (await fetch(url)).text()
  const [media] = /^[^#\s]+$/m.exec(master) ?? []
  if (media === undefined) return 0
  const playlist = await (await fetch(new URL(media, url))).text()
  return playlist.match(/^s\d+\.m4s/gm)?.length ?? 0
}

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

const lagOf = (numbers: readonly number[]): number => encoder.latest() - (numbers.at(-1) ?? 0)

test.concurrent.for(['hlsjs', 'videojs', 'shaka'])(
  '%s shows a low-latency stream smoothly',
  async (name, { expect }) => {
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
      if (numbers.length > 0) lags.push(lagOf(numbers))
      return (numbers.at(-1) ?? 0) - (numbers[0] ?? 0)
    }
    await expect.poll(look, { timeout: 60_000, interval: 500 }).toBeGreaterThan(WATCHED)
    expect(watchedIn(watched(), lags)).toSatisfy(isSmooth)
    // Shaka reports parts that were announced and never came.
    if (name !== 'shaka') expect(seen.errors).toEqual([])
  },
)

test.concurrent.for(Object.keys(NATIVE).filter((name) => !isMissing(name)))(
  '%s plays it, frame by frame',
  async (name, { expect }) => {
    const numbers = await playNatively(name, url, WATCHED)
    const first = numbers[0] ?? 0
    expect(numbers).toEqual(numbers.map((_, index) => first + index))
    // A player starts at most all listed segments behind.
    expect(lagOf(numbers)).toBeLessThan(16 * RATE)
  },
)
