import type { Dirent } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileSize } from './files.ts'

/** What the files below a folder take. */
export interface FolderUse<Kind> {
  readonly of: ReadonlyMap<Kind, { readonly files: number; readonly bytes: number }>
  /** There is more than was looked at. */
  readonly hasMore: boolean
}

/** Sums up the files below a folder by their kind; looks at `entriesMax` files and folders. One that does not exist has none. */
export async function folderUse<Kind>(
  dir: string,
  { kinds, kindOf, entriesMax }: { kinds: readonly Kind[]; kindOf: (name: string) => Kind; entriesMax: number },
): Promise<FolderUse<Kind>> {
  const of = new Map(kinds.map((kind) => [kind, { files: 0, bytes: 0 }]))
  const folders = [dir]
  let entries = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const entry of entriesOf(folder)) {
      entries += 1
      if (entries > entriesMax) return { of, hasMore: true }
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      if (!entry.isFile()) continue
      const sum = of.get(kindOf(entry.name))
      if (sum === undefined) continue
      sum.files += 1
      sum.bytes += (await fileSize(path)) ?? 0
    }
  }
  return { of, hasMore: false }
}

/** Nothing more if the folder does not exist, goes meanwhile, or its disk fails. */
async function* entriesOf(folder: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(folder)
  } catch {
    // The other folders count.
  }
}
