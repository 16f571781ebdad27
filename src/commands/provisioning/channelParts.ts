import { err, ok, type Result } from '../../base/result.ts'
import type { Provisioned } from '../../store/store.ts'
import type { ChannelResult } from '../channels/channelCommand.ts'
import { deleteDistribution } from '../channels/distributions.ts'
import { deleteEngine } from '../channels/engines.ts'
import { deleteIngest } from '../channels/ingests.ts'
import { problemsOf, isGone, type ItemProblems, type PartChange, type Provisioning } from './kind.ts'

/** In the order in which they can be deleted: an ingest has engines. */
const PART_KINDS = ['distribution', 'engine', 'ingest'] as const
export type PartKind = (typeof PART_KINDS)[number]

/** A part of a channel as it is. */
export interface ChannelPart {
  readonly kind: PartKind
  readonly id: string
  /** Within its channel, such as `ingests.Studio.engines.First`. */
  readonly path: string
}

export interface ChannelParts {
  readonly channelId: string
  readonly all: readonly ChannelPart[]
  /** The ids of those that the file names. */
  readonly named: ReadonlySet<string>
}

/**
 * Rows beside those of the channels say which parts come from files: the kind of the part, its id, and its channel. Parts
 * that were made by hand have none, and stay.
 */
const rowOf = ({ kind, id }: Pick<ChannelPart, 'kind' | 'id'>, channelId: string): Provisioned => ({
  kind,
  name: id,
  resourceId: channelId,
})

const isPartOf =
  (channelId: string) =>
  ({ kind, resourceId }: Provisioned): boolean =>
    resourceId === channelId && (PART_KINDS as readonly string[]).includes(kind)

/** Notes the parts that the file names. Those of earlier files that it does not name are left, or deleted by `prune`. */
export async function settleParts(
  within: Provisioning,
  { channelId, all, named }: ChannelParts,
): Promise<Result<readonly PartChange[], ItemProblems>> {
  const { tx, actor } = within
  const rows = within.rows.filter(isPartOf(channelId))
  const isNoted = ({ id }: ChannelPart) => rows.some(({ name }) => name === id)
  for (const part of all) {
    if (named.has(part.id) && !isNoted(part)) await tx.provisioned.put(actor.accountId, rowOf(part, channelId))
  }
  for (const row of rows) {
    if (!all.some(({ id }) => id === row.name)) await tx.provisioned.delete(actor.accountId, row)
  }
  const left = PART_KINDS.flatMap((kind) => all.filter((part) => part.kind === kind))
  return leaveOrDelete(
    within,
    channelId,
    left.filter((part) => isNoted(part) && !named.has(part.id)),
  )
}

async function leaveOrDelete(
  within: Provisioning,
  channelId: string,
  parts: readonly ChannelPart[],
): Promise<Result<readonly PartChange[], ItemProblems>> {
  if (!within.prune) return ok(parts.map(({ path }) => ({ path, verb: 'left' })))
  for (const part of parts) {
    const done = await deletePart(within, part)
    if (!done.ok && !isGone(done.error)) {
      const problems = problemsOf(done.error)
      return err(problems.map(({ message }) => ({ path: '', message: `${part.path}: ${message}` })))
    }
    await within.tx.provisioned.delete(within.actor.accountId, rowOf(part, channelId))
  }
  return ok(parts.map(({ path }) => ({ path, verb: 'delete' })))
}

function deletePart({ ctx, actor }: Provisioning, { kind, id }: ChannelPart): ChannelResult<true> {
  if (kind === 'ingest') return deleteIngest(ctx, actor, id)
  return kind === 'engine' ? deleteEngine(ctx, actor, id) : deleteDistribution(ctx, actor, id)
}

/** The channel is gone, and its parts with it. */
export async function forgetParts({ tx, actor, rows }: Provisioning, channelId: string): Promise<void> {
  for (const row of rows.filter(isPartOf(channelId))) await tx.provisioned.delete(actor.accountId, row)
}
