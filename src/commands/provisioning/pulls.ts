import { err, ok, type Result } from '../../base/result.ts'
import { without } from '../../core/provisioning/carried.ts'
import { difference } from '../../core/provisioning/difference.ts'
import { toPullRecord } from '../../core/pulls/rules.ts'
import type { StoredPull } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { createPull, deletePull, openPullUrl, updatePull } from '../pulls/pulls.ts'
import {
  created,
  deleted,
  type ItemProblems,
  patchOf,
  type ProvisionedKind,
  type Provisioning,
  withProblems,
} from './kind.ts'

type Body = Readonly<Record<string, unknown>>

export const provisionedPulls: ProvisionedKind = {
  async compare(within, id, { body }) {
    const stored = await within.tx.pulls.lock(within.actor.accountId, Number(id))
    if (stored === undefined) return null
    const wanted = await withTokenId(within, body)
    // Without its token it is told when it is updated.
    const settings = wanted.ok ? wanted.value : body
    return difference(settings, pullSettings(within.ctx, stored))
  },
  async create(within, { body }) {
    const settings = await withTokenId(within, body)
    if (!settings.ok) return settings
    const made = await createPull(within.ctx, within.actor, settings.value)
    return created(made)
  },
  async update(within, id, _item, changed) {
    const settings = await withTokenId(within, patchOf(changed))
    if (!settings.ok) return settings
    const done = await updatePull(within.ctx, within.actor, Number(id), settings.value)
    return withProblems(done)
  },
  /** Its token may have been deleted by hand, and the pull with it. */
  async delete({ ctx, actor }, id) {
    return deleted(await deletePull(ctx, actor, Number(id)))
  },
}

/** `token` is the name of a publish token in the files, in place of its id, which Sluice may have chosen. */
async function withTokenId({ tx, actor }: Provisioning, body: Body): Promise<Result<Body, ItemProblems>> {
  const { token } = body
  if (token === undefined) return ok(body)
  if (body['tokenId'] !== undefined) return err([{ path: 'token', message: 'must not stand beside tokenId' }])
  const name = typeof token === 'string' ? token : ''
  const row = await tx.provisioned.get(actor.accountId, { kind: 'publishTokens', name })
  if (!row) return err([{ path: 'token', message: 'must be the name of a publish token in these files' }])
  return ok({ ...without(body, ['token']), tokenId: Number(row.resourceId) })
}

/** A pull with all that its source needs. */
export function pullSettings(ctx: Context, pull: StoredPull): Body {
  const record = toPullRecord(pull, { nowMs: ctx.clock.now(), isRunning: false, seesSecrets: true })
  return { ...record, url: openPullUrl(ctx, pull) }
}
