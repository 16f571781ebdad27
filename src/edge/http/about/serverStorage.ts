import { isoTime } from '../../../base/time.ts'
import { type Static, Type } from 'typebox'
import type { Context } from '../../../commands/context.ts'
import { count, reportedNode } from '../fieldSchemas.ts'

/** The disk of some directories. */
export interface StorageVolume {
  readonly directories: readonly string[]
  readonly freeBytes: number
  readonly totalBytes: number
}

const PARTS = ['database', 'recordings', 'thumbnails', 'channels', 'backups'] as const

/** What one kind of files takes. */
export interface StoragePart {
  readonly part: (typeof PARTS)[number]
  readonly files: number
  readonly bytes: number
  /** There are more files than were looked at. */
  readonly hasMore: boolean
}

type TableSize = Awaited<ReturnType<Context['store']['tableSizes']>>[number]

/** What fills the disks of a node. */
export interface StorageSurvey {
  readonly atMs: number
  readonly volumes: readonly StorageVolume[]
  readonly parts: readonly StoragePart[]
  /** The largest ones. */
  readonly tables: readonly TableSize[]
}

export const storageRecord = (
  node: string,
  { atMs, tables, volumes, parts }: StorageSurvey,
): Static<typeof ServerStorage> => ({
  node,
  at: isoTime(atMs),
  volumes: volumes.map(({ directories, ...space }) => ({ directories: [...directories], ...space })),
  parts: [...parts],
  tables: tables.map(({ bytes, ...table }) => ({ ...table, ...(bytes === null ? {} : { bytes }) })),
})

export const ServerStorage = Type.Object({
  node: reportedNode,
  at: Type.String({ format: 'date-time' }),
  volumes: Type.Array(
    Type.Object({ directories: Type.Array(Type.String()), freeBytes: count(), totalBytes: count() }),
    {
      description: 'The disks of data and recordings.',
    },
  ),
  parts: Type.Array(
    Type.Object({
      part: Type.Enum([...PARTS], { description: '`channels`: what engines write; HLS itself is in memory.' }),
      files: count(),
      bytes: count(),
      hasMore: Type.Boolean({ description: 'Only the first 50,000 files and folders were counted.' }),
    }),
  ),
  tables: Type.Array(
    Type.Object({
      name: Type.String(),
      rows: Type.Integer({ minimum: 0, description: 'PostgreSQL estimates it.' }),
      hasMore: Type.Boolean({
        description: 'There are more: of a SQLite database above 2 GB, rows are counted up to 10,000.',
      }),
      bytes: Type.Optional(
        Type.Integer({ minimum: 0, description: 'With its indexes; absent for a SQLite database above 2 GB.' }),
      ),
    }),
    { description: 'The ten largest.' },
  ),
})
