import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'
import { operatorsOnly } from './operators.ts'

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

/** What fills the disks of the node that answers. */
export function serverStorageRoutes(app: FastifyInstance, ctx: Context, survey: () => Promise<StorageSurvey>): void {
  app.get(
    '/api/server/storage',
    {
      ...document('server', 'What fills the disks of the node that answers, at most a minute old', {
        operationId: 'readServerStorage',
        data: ServerStorage,
      }),
      preHandler: operatorsOnly(ctx, 'sluice doctor'),
    },
    async (_request, reply) => {
      const { atMs, tables, ...rest } = await survey()
      return sendResult(
        reply,
        ok({
          node: ctx.sessions.node,
          at: new Date(atMs).toISOString(),
          ...rest,
          tables: tables.map(({ bytes, ...table }) => ({ ...table, ...(bytes === null ? {} : { bytes }) })),
        }),
      )
    },
  )
}

const count = () => Type.Integer({ minimum: 0 })

const ServerStorage = Type.Object({
  node: Type.String({ description: 'The id of the node that answers.' }),
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
