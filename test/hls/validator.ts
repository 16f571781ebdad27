import { systemClock } from '../../src/base/clock.ts'
import type { FastClock } from '../support/fastClock.ts'
import { checkAnswer } from './answers.ts'
import { Client } from './client.ts'
import { checkAligned, checkRates, checkVariant, type SegmentFacts } from './media.ts'
import { strictly } from './onePlaylist.ts'
import { readMaster, type Variant } from './playlist.ts'
import { Rendition } from './rendition.ts'
import { Report } from './report.ts'
import { unless } from './violation.ts'

export interface ValidatorOptions {
  /** The master playlist of a running stream. */
  readonly url: string
  readonly seconds: number
  /** Sent with each request for the master playlist, for example a token. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long the server may be away before that is a violation, for tests that restart it. Default 0. */
  readonly outageMs?: number
  /** Of the stream, which it slows down while the stream is behind. Default: the clock of the machine. */
  readonly clock?: FastClock
  /** How late a change may be on a busy machine, seconds. Default 1. */
  readonly graceSeconds?: number
  /** True ends the watch early. Called after each playlist. */
  readonly isEnough?: (report: Report) => boolean
}

/** Time for requests that are under way when the watch is over. */
const LAST_ANSWERS_MS = 10_000

/**
 * Watches a running HLS stream as players do, and checks it against RFC 8216, draft-pantos-hls-rfc8216bis and what Sluice
 * promises beyond them: see `Rule`. Follows all variants at the same time. Never rejects for what the server does.
 */
export async function validateHls(options: ValidatorOptions): Promise<Report> {
  const report = new Report()
  const over = new AbortController()
  const { outageMs = 0, seconds } = options
  const clock = options.clock ?? systemClock
  const client = new Client({ outageMs, signal: over.signal, clock })
  const renditions = await open(client, report, options)
  const untilMs = clock.monotonic() + seconds * 1000
  const caughtUp = options.clock?.crawlWhile(() => renditions.some(({ rendition }) => rendition.isBehind))
  clock.sleep(seconds * 1000 + LAST_ANSWERS_MS, over.signal).then(
    () => over.abort(),
    () => undefined,
  )
  try {
    await Promise.all(
      renditions.map(({ rendition }) => rendition.watch(untilMs, () => options.isEnough?.(report) === true)),
    )
  } finally {
    caughtUp?.()
    over.abort()
  }
  conclude(report, renditions)
  return report
}

interface Opened {
  readonly variant: Variant
  readonly name: string
  readonly rendition: Rendition
}

/** Loads the master playlist for two viewers. The rules are checked with the first one. */
async function open(client: Client, report: Report, options: ValidatorOptions): Promise<Opened[]> {
  const { url, headers = {}, graceSeconds = 1, clock = systemClock } = options
  const load = () => client.get('master', url, headers)
  const [mine, theirs] = await Promise.all([load(), load()])
  report.add(unless(mine?.status === 200, 'answer', 'master playlist', '200', mine?.status ?? 'no connection'))
  if (mine?.status !== 200) return []
  const text = mine.body.toString()
  report.seen.masters += 1
  report.add([...checkAnswer(mine, 0, 'master playlist'), ...strictly(text, 'master playlist')])
  const variants = readMaster(text)
  const others = theirs?.status === 200 ? readMaster(theirs.body.toString()) : variants
  report.add(unless(variants.length > 0, 'answer', 'master playlist', 'a variant', null))
  return variants.map((variant, index) => {
    const urls = [variant, others[index] ?? variant].map(({ uri }) => new URL(uri, url).href) as [string, string]
    const name = `variant ${index}`
    return { variant, name, rendition: new Rendition({ clock, client, report, variant, urls, graceSeconds, name }) }
  })
}

/** The rules that need the whole watch, or several renditions: V20 to V22. */
function conclude(report: Report, renditions: readonly Opened[]): void {
  for (const { variant, name, rendition } of renditions) {
    const { facts, targetSeconds } = rendition.media
    if (facts.length === 0) continue
    report.add([...checkRates(variant, facts, targetSeconds, name), ...checkVariant(variant, facts, name)])
  }
  const [first, ...others] = renditions
  for (const other of others)
    report.add(alignedWith(first?.rendition.media.facts ?? [], other.rendition.media.facts, other.name))
}

function alignedWith(first: readonly SegmentFacts[], other: readonly SegmentFacts[], name: string) {
  const [firstByNumber, otherByNumber] = [first, other].map((all) => new Map(all.map((facts) => [facts.number, facts])))
  return other.flatMap((facts) => {
    const same = firstByNumber?.get(facts.number)
    const before = [firstByNumber, otherByNumber].flatMap((all) => all?.get(facts.number - 1) ?? [])
    return same ? checkAligned(same, facts, `variant 0 and ${name}`, before) : []
  })
}
