import { Gauge } from 'prom-client'
import type { DiskSpace } from '../../../base/diskSpace.ts'
import type { Context } from '../../../commands/context.ts'
import type { Samples } from './samples.ts'

type Disks = readonly (readonly [what: string, space: DiskSpace | null])[]

/** The room that attention and the alert judge. A disk that cannot be asked has no value. @param recordings the disk of those */
export function registerDiskMetrics(
  { registry }: Samples,
  { store }: Context,
  recordings: () => Promise<DiskSpace | null>,
): void {
  const read = async (): Promise<Disks> => [
    ['database', await store.diskSpace()],
    ['recordings', await recordings().catch(() => null)],
  ]
  const disks = sharedWhileItRuns(read)
  const add = (name: string, help: string, valueOf: (space: DiskSpace) => number): void =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ['what'],
        registers: [],
        async collect() {
          const found = await disks()
          this.reset()
          for (const [what, space] of found) if (space !== null) this.set({ what }, valueOf(space))
        },
      }),
    )
  add(
    'sluice_disk_free_bytes',
    'Free space on the disk of the database and of recordings.',
    ({ freeBytes }) => freeBytes,
  )
  add('sluice_disk_size_bytes', 'Size of the disk of the database and of recordings.', ({ totalBytes }) => totalBytes)
}

/** A scrape collects its metrics at once: they get one reading, so that they agree, and a slow disk is asked once. */
function sharedWhileItRuns<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null
  return () => (running ??= read().finally(() => (running = null)))
}
