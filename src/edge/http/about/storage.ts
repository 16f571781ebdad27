import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { DiskSpace } from '../../../commands/attention.ts'
import type { Context } from '../../../commands/context.ts'
import { readStorage } from '../../../commands/storage.ts'
import { accountOf } from '../auth.ts'
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
    async (request, reply) => sendResult(reply, ok(await readStorage(ctx, accountOf(request), await recordingsDisk()))),
  )
}

const count = () => Type.Integer({ minimum: 0 })
const disk = (description: string) =>
  Type.Optional(Type.Object({ freeBytes: count(), totalBytes: count() }, { description }))

const Storage = Type.Object({
  recordings: Type.Object({
    count: Type.Integer({ description: 'Finished recordings of the account, at all nodes.' }),
    bytes: Type.Integer({ description: 'Their files.' }),
    disk: disk('Of the recordings of the node that answers.'),
  }),
  database: disk('Absent with PostgreSQL, which does not tell.'),
})
