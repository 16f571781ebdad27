import type { TargetKeys } from '../../core/tokens/types.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import type { RestreamKeyReads } from '../../store/store.ts'
import type { CommandContext } from '../context.ts'

const { context: CONTEXT } = SEALED_COLUMNS.restreamKey

type SealContext = Pick<CommandContext, 'sealer'>

/** The keys of targets as they are stored. @param stored those before the change, for the kept ones */
export const sealTargetKeys = (
  { sealer }: SealContext,
  keys: TargetKeys,
  stored: readonly Uint8Array[],
): Uint8Array[] => keys.map((one) => ('key' in one ? sealer.seal(one.key, CONTEXT) : storedKey(stored, one.kept)))

function storedKey(stored: readonly Uint8Array[], at: number): Uint8Array {
  const key = stored[at]
  if (key === undefined) throw new Error('a target has no key')
  return key
}

/** The keys of a token's targets. Throws when one was sealed with a key that this node does not have. */
export async function openTargetKeys(
  { sealer }: SealContext,
  reads: RestreamKeyReads,
  tokenId: number,
): Promise<string[]> {
  return (await reads.list(tokenId)).map((sealed) => {
    const opened = sealer.open(sealed, CONTEXT)
    if (!opened.ok)
      throw new Error(`the key of a target cannot be opened with this node's sealing key: ${opened.error}`)
    return opened.value.toString('utf8')
  })
}
