import { err, ok, type Result } from '../../base/result.ts'
import type { NewEngineTarget } from '../../core/channels/engineTargets.ts'
import { toEngineRecord } from '../../core/channels/engine.ts'
import type { EngineRecord } from '../../core/channels/engineSchema.ts'
import { type ChannelFailure, validationFailed } from '../../core/channels/errors.ts'
import type { Engine } from '../../core/channels/types.ts'
import { hasSecretUrl } from '../../core/restream/targets.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import { splitTargets } from '../../core/tokens/restream.ts'
import { Problems } from '../../core/validation/problems.ts'
import type { CommandContext } from '../context.ts'

const { context: CONTEXT } = SEALED_COLUMNS.engineTargets

type SealContext = Pick<CommandContext, 'sealer'>
type Stored = Pick<Engine, 'restream' | 'targetKeysSealed'>

const NONE: Stored = { restream: [], targetKeysSealed: null }

/** Targets as they are stored. @param before those of the engine, of which keys may be kept */
export function sealedTargets(
  ctx: SealContext,
  targets: readonly NewEngineTarget[],
  before: Stored = NONE,
): Result<Stored, ChannelFailure> {
  const problems = new Problems()
  const { restream, keys } = splitTargets(targets, before.restream, problems)
  const settled = problems.settle(null)
  if (!settled.ok) return err(validationFailed(settled.error))
  if (restream.length === 0) return ok(NONE)
  const stored = engineTargetKeys(ctx, before)
  const whole = keys.map((one) => ('key' in one ? one.key : (stored[one.kept] ?? '')))
  return ok({ restream, targetKeysSealed: ctx.sealer.seal(JSON.stringify(whole), CONTEXT) })
}

/** The keys of an engine's targets, in their order. Throws when they were sealed with a key that this node does not have. */
export function engineTargetKeys({ sealer }: SealContext, { targetKeysSealed }: Stored): string[] {
  if (targetKeysSealed === null) return []
  const opened = sealer.open(targetKeysSealed, CONTEXT)
  if (!opened.ok) throw new Error(`the keys of targets cannot be opened with this node's sealing key: ${opened.error}`)
  return JSON.parse(opened.value.toString('utf8')) as string[]
}

/** The record of an engine with the whole keys of its targets, as provisioning files have it. */
export function engineWithKeys(ctx: SealContext, engine: Engine): EngineRecord {
  const keys = engineTargetKeys(ctx, engine)
  const record = toEngineRecord(engine)
  const whole = record.restream.map((target, at) => {
    const key = keys[at] ?? ''
    return hasSecretUrl(key) ? { ...target, url: key } : { ...target, key }
  })
  return { ...record, restream: whole }
}
