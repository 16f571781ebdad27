import type { App } from './app.ts'
import { FeedMedia } from './feedMedia.ts'
import { inOrder } from './inOrder.ts'
import { mediaDialling, type OwnPorts } from './mediaDialling.ts'
import { LeavingCalls, openAttempt } from './restreamTargets.ts'
import type { ViewerEncoding } from './viewerEncoding.ts'
import type { AttemptEvent } from '../core/restream/driver.ts'
import { recordTarget } from '../commands/restream/recordTarget.ts'
import { openTargetKeys } from '../commands/tokens/targetKeys.ts'
import { repeat } from '../base/repeat.ts'
import type { TargetReading } from '../core/streams/reading.ts'
import { streamIdOf } from '../core/streams/streamId.ts'
import type { EncodingRoom } from '../media/convert/encodingRoom.ts'
import type { ActiveFeed } from '../media/feedsOnAir.ts'
import { type Ffmpeg, ffmpegOf } from '../media/ffmpeg/ffmpeg.ts'
import {
  type OpenTarget,
  type RestreamedFeed,
  Restreams,
  type TargetAttempt,
  type TargetReport,
} from '../services/restreams.ts'

const TICK_MS = 1000

/** What dials the targets of feeds. */
export interface TargetDialling {
  /** A feed is on the air. Its targets are opened after that, and before its end. */
  begin(feed: ActiveFeed): void
  /** Must not report before it has returned. */
  open(target: OpenTarget, feedId: string, report: (event: AttemptEvent) => void): TargetAttempt
  /** See `FeedMedia`. */
  onOtherCodecs(feedId: string, changed: () => void): () => void
  end(feedId: string): void
  /** Called every second. */
  tick(): void
  /** The node stops, after the end of all feeds. */
  stop(): void
}

export interface RestreamParts {
  /** Converts what targets do not take. */
  readonly ffmpeg: Ffmpeg
  readonly encodingRoom: EncodingRoom
  readonly sharedOf: ViewerEncoding['sharedOf']
  /** The ports on which this node takes publishers: a target there would get its own media. */
  readonly ownPorts: OwnPorts
}

/** Dials over the network, and sends the media of the feeds of this node. */
export function dialledTargets(app: App, parts: RestreamParts): TargetDialling {
  const how = mediaDialling(app, parts.ownPorts)
  const leaving = new LeavingCalls()
  const media = new Map<string, FeedMedia>()
  return {
    begin({ feedId, accountId, streamName, media: source }) {
      const name = `restream ${streamIdOf({ accountId, streamName })}`
      const shared = () => parts.sharedOf(feedId)
      const ffmpeg = ffmpegOf(parts.ffmpeg, accountId)
      media.set(feedId, new FeedMedia({ ...app.ctx, ...parts, ffmpeg, source, name, shared }))
    },
    open: (target, feedId, report) => openAttempt(app, target, { media: media.get(feedId), report, how, leaving }),
    onOtherCodecs: (feedId, changed) => media.get(feedId)?.onOtherCodecs(changed) ?? (() => undefined),
    end: (feedId) => void media.delete(feedId),
    tick() {
      for (const one of media.values()) void one.checkProgress()
    },
    stop: () => leaving.hangUpAll(),
  }
}

/** Sends the feeds of this node on to the targets of their tokens, until it is stopped. */
export function startRestreams(app: App, dialling: TargetDialling): { restreams: Restreams; stop(): Promise<void> } {
  const { ctx } = app
  const records = inOrder(ctx, 'target')
  const restreams = new Restreams({
    ...ctx,
    targetsOf: (feed) => targetsOf(app, feed),
    open: (target, { feedId }, report) => dialling.open(target, feedId, report),
    onOtherCodecs: ({ feedId }, changed) => dialling.onOtherCodecs(feedId, changed),
    used: (feed, use) => {
      ctx.restreamUsage.add(feed, use)
      ctx.sessions.counts.otherBytesOut += use.bytesOut
    },
    changed: (feed, target, news) => {
      logTarget(app, feed, target)
      records.write(() => recordTarget(ctx, feed, target, news), { streamName: feed.streamName })
    },
  })
  ctx.streamMeter.targetsOf = (feedId) => restreams.report(feedId).map(readingOf)
  const start = (feed: ActiveFeed): void => {
    if (!feed.restream) return
    dialling.begin(feed)
    void restreams.start(feed)
  }
  const unwatch = ctx.sessions.feeds.watch((feed, what) => {
    if (what === 'started') return start(feed)
    restreams.stop(feed.feedId)
    dialling.end(feed.feedId)
  })
  for (const feed of ctx.sessions.feeds.all()) start(feed)
  const unfollow = ctx.cache.onChange((change) => {
    if (change.kind === 'token') void restreams.sync(({ tokenId }) => tokenId === change.id)
    else if (change.kind === 'all') void restreams.sync(() => true)
  })
  const ticking = repeat({ ...ctx, name: 'look after restreams', everyMs: TICK_MS }, async () => {
    restreams.tick()
    dialling.tick()
  })
  return {
    restreams,
    async stop() {
      unwatch()
      unfollow()
      await ticking.stop()
      restreams.stopAll()
      dialling.stop()
      await records.stop()
    },
  }
}

function logTarget({ ctx }: App, { streamName, tokenId }: RestreamedFeed, { url, index, state }: TargetReport): void {
  const { status, problem } = state
  const facts = { streamName, tokenId, target: index, host: new URL(url).host, status }
  ctx.log.info(problem === null ? facts : { ...facts, problem: problem.message }, 'a target of a publish token')
}

export function readingOf({ index, label, url, state, bitrateOut, liveMs, lastProblem }: TargetReport): TargetReading {
  const { status, sinceMs, retryAtMs, problem } = state
  const liveSeconds = Math.floor(liveMs / 1000)
  return { index, label, url, status, sinceMs, retryAtMs, problem, bitrateOut, liveSeconds, lastProblem }
}

async function targetsOf({ ctx }: App, { accountId, tokenId }: RestreamedFeed): Promise<OpenTarget[]> {
  // Most tokens have none. A change that comes now is applied when it is read.
  if ((await ctx.store.read.tokens.get(tokenId))?.restream.length === 0) return []
  // Together, so that keys and targets are of one version of the token.
  return ctx.store.transaction(async (tx) => {
    const token = await tx.tokens.lock(accountId, 'publish', tokenId)
    if (token === undefined || token.restream.length === 0) return []
    const keys = await openTargetKeys(ctx, tx.restreamKeys, tokenId)
    return token.restream.map(({ shownKey: _shownKey, ...target }, index) => ({
      ...target,
      index,
      key: keys[index] ?? '',
    }))
  })
}
