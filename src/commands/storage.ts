import type { DiskSpace } from '../base/diskSpace.ts'
import type { CommandContext } from './context.ts'

export interface StorageUse {
  recordings: { count: number; bytes: number; disk?: DiskSpace }
  database?: DiskSpace
}

/** The space that recordings of an account take, and the space that is left. `disk`: of the recordings; null: not known. */
export async function readStorage(
  { store }: CommandContext,
  accountId: string,
  disk: DiskSpace | null,
): Promise<StorageUse> {
  const database = await store.diskSpace()
  return {
    recordings: { ...(await store.read.recordings.usage(accountId)), ...(disk === null ? {} : { disk }) },
    ...(database === null ? {} : { database }),
  }
}
