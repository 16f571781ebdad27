import type { Actor, CommandContext } from '../context.ts'

/** Who makes links to recordings. Each kind has another first letter, which stands in links. */
export const MAKERS = ['secret', 'user', 'cli'] as const

/** Who made a link to a recording. The link is valid as long as its maker may make one; the command line always may. */
export interface LinkMaker {
  readonly kind: (typeof MAKERS)[number]
  /** 0: the command line. */
  readonly id: number
  /**
   * Since when the secret has its value, or there is the user: another value is another maker. Epoch milliseconds; 0: the
   * command line.
   */
  readonly sinceMs: number
}

/** The maker that this actor is; null: it makes no links, or no longer. */
export async function linkMakerOf(ctx: CommandContext, actor: Actor): Promise<LinkMaker | null> {
  if (actor.kind === 'cli') return { kind: 'cli', id: 0, sinceMs: 0 }
  if (actor.kind !== 'secret' && actor.kind !== 'user') return null
  const { kind, id, accountId } = actor
  const sinceMs = await sinceOf(ctx, accountId, { kind, id })
  return sinceMs === null ? null : { kind, id, sinceMs }
}

/** Whether the maker of a link of this account still exists, with the same value, and may make links. */
export const isStillMaker = async (ctx: CommandContext, accountId: string, maker: LinkMaker): Promise<boolean> =>
  (await sinceOf(ctx, accountId, maker)) === maker.sinceMs

async function sinceOf(
  { store }: CommandContext,
  accountId: string,
  { kind, id }: Pick<LinkMaker, 'kind' | 'id'>,
): Promise<number | null> {
  if (kind === 'cli') return 0
  if (kind === 'user') {
    const user = await store.read.users.get(accountId, id)
    return user?.role === 'admin' ? user.createdAtMs : null
  }
  const secret = await store.read.secrets.get(accountId, id)
  return secret ? (secret.refreshedAtMs ?? secret.createdAtMs) : null
}
