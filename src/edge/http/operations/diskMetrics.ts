import { Gauge } from 'prom-client'
import type { DiskSpace } from '../../../commands/attention.ts'
import type { Context } from '../../../commands/context.ts'
import type { Samples } from './samples.ts'

/** The room that attention and the alert judge. A disk that cannot be asked has no value. @param recordings the disk of those */
export function registerDiskMetrics(
  { registry }: Samples,
  { store }: Context,
  recordings: () => Promise<DiskSpace | null>,
): void {
  const disks = { database: () => store.diskSpace(), recordings }
  const add = (name: string, help: string, valueOf: (space: DiskSpace) => number): void =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ['what'],
        registers: [],
        async collect() {
          this.reset()
          for (const [what, read] of Object.entries(disks)) {
            const space = await read().catch(() => null)
            if (space !== null) this.set({ what }, valueOf(space))
          }
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
