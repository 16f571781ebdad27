import { statfs } from 'node:fs/promises'

/** Free and total space of a disk, bytes. */
export interface DiskSpace {
  readonly freeBytes: number
  readonly totalBytes: number
}

/** The disk of a directory; free is what this user may take. @throws the error of the system, when it cannot be asked */
export async function diskSpaceOf(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}
