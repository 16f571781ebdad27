import { failure, type Failure } from '../../core/errors.ts'
import type { CommandContext } from '../context.ts'

/**
 * Refuses what concerns the whole server where it serves several accounts: the holder of one may not decide for the others,
 * nor read what they share. Null: there is one, so its holder is the operator.
 * @param instead the command for those who operate the machine
 */
export async function refuseShared({ store }: Pick<CommandContext, 'store'>, instead: string): Promise<Failure | null> {
  const accounts = await store.read.accounts.list()
  if (accounts.length <= 1) return null
  return failure('forbidden', `Forbidden: the nodes serve several accounts. On one of the machines run: ${instead}`)
}
