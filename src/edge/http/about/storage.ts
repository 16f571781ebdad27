import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DiskSpace } from '../../../base/diskSpace.ts'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { readStorage } from '../../../commands/storage.ts'
import { accountOf } from '../auth.ts'
import { count } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sendResult } from '../problem.ts'

/** What recordings take, and what is left. */
export function storageRoutes(
  app: FastifyInstance,
  ctx: Context,
  recordingsDisk: () => Promise<DiskSpace | null>,
): void {
  app.get(
    '/api/storage',
    document('server', 'The space that recordings take, and the space that is left', {
      operationId: 'readStorage',
      data: Storage,
    }),
    async (request, reply) => {
      // Attention says why it cannot be asked.
      const disk = await recordingsDisk().catch(() => null)
      return sendResult(reply, ok(await readStorage(ctx, accountOf(request), disk)))
    },
  )
  usageRoutes(app, ctx)
}

/** What media takes, in the forms of hosted services: all of it is recordings. */
function usageRoutes(app: FastifyInstance, ctx: Context): void {
  const bytesOf = async (request: FastifyRequest): Promise<number> =>
    (await readStorage(ctx, accountOf(request), null)).recordings.bytes
  app.get(
    '/api/analytics/media/storage/usage',
    document('server', 'The bytes that media takes now', { operationId: 'readMediaUsage', data: MediaUsage }),
    async (request, reply) => {
      const bytes = await bytesOf(request)
      return sendResult(reply, ok({ totalBytes: bytes, recordings: bytes, clips: 0, timelines: 0, vod: 0 }))
    },
  )
  app.get(
    '/api/record_files/usage',
    document('server', 'The bytes that recordings take now', {
      operationId: 'readRecordingUsage',
      data: Type.Object({ totalBytes: count() }),
      deprecated: true,
    }),
    async (request, reply) => sendResult(reply, ok({ totalBytes: await bytesOf(request) })),
  )
}

const disk = (description: string) =>
  Type.Optional(Type.Object({ freeBytes: count(), totalBytes: count() }, { description }))

const none = () => Type.Integer({ minimum: 0, maximum: 0, description: 'Not built; always 0.' })

const MediaUsage = Type.Object({
  totalBytes: count(),
  recordings: Type.Integer({
    minimum: 0,
    description: 'Files of the finished recordings of the account, at all nodes.',
  }),
  clips: none(),
  timelines: none(),
  vod: none(),
})

const Storage = Type.Object({
  recordings: Type.Object({
    count: Type.Integer({ description: 'Finished recordings of the account, at all nodes.' }),
    bytes: Type.Integer({ description: 'Their files.' }),
    disk: disk('Of the recordings of the node that answers.'),
  }),
  database: disk('Absent with PostgreSQL, which does not tell.'),
})
