import type { App } from './app.ts'
import type { Channels } from './channels.ts'
import { FeedMedia } from './feedMedia.ts'
import { inOrder } from './inOrder.ts'
import { mediaDialling } from './mediaDialling.ts'
import { readingOf, type RestreamParts } from './restream.ts'
import { LeavingCalls, openAttempt } from './restreamTargets.ts'
import { uuid } from '../base/ids.ts'
import { repeat } from '../base/repeat.ts'
import { engineTargetKeys } from '../commands/channels/engineTargets.ts'
import { recordEngineTarget } from '../commands/restream/recordEngineTarget.ts'
import type { Engine } from '../core/channels/types.ts'
import type { EngineOutput, OutputOf } from '../media/transcoder/engineOutput.ts'
import { type OpenTarget, Restreams } from '../services/restreams.ts'

const TICK_MS = 1000

/** What an engine of this node makes. */
interface RestreamedEngine extends OutputOf {
  readonly feedId: string
}

interface Running {
  readonly feed: RestreamedEngine
  readonly media: FeedMedia
  /** When the engine was changed, as its targets were last read, epoch milliseconds; null: they were not yet. */
  version: number | null
}

/** Sends what the engines of this node make on to their targets, as feeds to those of their tokens, until it is stopped. */
export function startEngineRestreams(
  app: App,
  { outputs, onEngines, measured }: Pick<Channels, 'outputs' | 'onEngines' | 'measured'>,
  parts: RestreamParts,
): { stop(): Promise<void> } {
  const { ctx } = app
  const how = mediaDialling(app, parts.ownPorts)
  const leaving = new LeavingCalls()
  const running = new Map<string, Running>()
  const records = inOrder(ctx, 'target')
  const restreams = new Restreams<RestreamedEngine>({
    ...ctx,
    async targetsOf({ accountId, engineId }) {
      const engine = await ctx.store.read.engines.get(accountId, engineId)
      const one = running.get(engineId)
      if (one && engine) one.version = engine.updatedAtMs
      return engine === undefined ? [] : openTargets(app, engine)
    },
    open: (target, { engineId }, report) =>
      openAttempt(app, target, { media: running.get(engineId)?.media, report, how, leaving }),
    // What an engine makes is H.264 and AAC.
    onOtherCodecs: () => () => undefined,
    // Analytics has rows of streams, and an engine has none.
    used: ({ accountId, feedId }, use) => ctx.restreamUsage.add({ accountId, feedId, streamName: '' }, use),
    changed: (feed, target, news) => {
      const { status, problem } = target.state
      const facts = { engine: feed.engineId, target: target.index, host: new URL(target.url).host, status }
      ctx.log.info(problem === null ? facts : { ...facts, problem: problem.message }, 'a target of an engine')
      if (news === null) return
      const work = (isAgain: boolean) => recordEngineTarget(ctx, feed, target, { news, isAgain })
      records.write(work, { engine: feed.engineId })
    },
  })
  outputs.watch((output, what) => {
    const { engineId } = output.of
    const before = running.get(engineId)
    running.delete(engineId)
    if (before !== undefined) restreams.stop(before.feed.feedId)
    if (what === 'ended') return
    const one = newlyRunning(app, output, parts)
    running.set(engineId, one)
    void restreams.start(one.feed)
  })
  const ticking = repeat({ ...ctx, name: 'look after restreams of engines', everyMs: TICK_MS }, async () => {
    outputs.tick()
    restreams.tick()
    await Promise.all([...running.values()].map(({ media }) => media.checkProgress()))
  })
  onEngines((engines) => {
    for (const engine of engines) {
      const one = engine && running.get(engine.id)
      if (one === undefined || one.version === engine?.updatedAtMs) continue
      void restreams.sync(({ feedId }) => feedId === one.feed.feedId)
    }
  })
  measured.targetsOf = (engineId) => restreams.report(running.get(engineId)?.feed.feedId ?? '').map(readingOf)
  return {
    async stop() {
      await ticking.stop()
      restreams.stopAll()
      leaving.hangUpAll()
      await records.stop()
      await ctx.restreamUsage.write(ctx.store)
    },
  }
}

function newlyRunning({ ctx }: App, { of, media: source }: EngineOutput, parts: RestreamParts): Running {
  const name = `restream of engine ${of.engineId}`
  const media = new FeedMedia({ ...ctx, ...parts, source, name })
  return { feed: { ...of, feedId: uuid(ctx.random) }, media, version: null }
}

function openTargets({ ctx }: App, engine: Engine): OpenTarget[] {
  const keys = engineTargetKeys(ctx, engine)
  return engine.restream.map(({ url, label, enabled }, index) => ({
    index,
    url,
    label,
    enabled,
    key: keys[index] ?? '',
    // What an engine makes is H.264 and AAC.
    transcode: false,
  }))
}
