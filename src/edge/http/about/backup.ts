import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import { auditBackup } from '../../../commands/backups.ts'
import type { Context } from '../../../commands/context.ts'
import { failure, type Failure } from '../../../core/errors.ts'
import { type Said, saidAs, saidAsData } from '../../../core/notices.ts'
import { actorOf } from '../auth.ts'
import { count } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { sendStoredFile } from '../storedFile.ts'
import { operatorsOnly } from './operators.ts'

/** What the last backup says of itself. */
export interface LatestBackup {
  readonly createdAt: string
  /** The version of Sluice that made it. */
  readonly version: string
  readonly bytes: number
  readonly accounts: number
  readonly tokens: number
  /** The ids of the keys that a restore needs. */
  readonly sealedBy: readonly string[]
}

export interface BackupState {
  readonly engine: 'sqlite' | 'postgres'
  readonly isRunning: boolean
  /** Why the last attempt since the start made none; a sentence. */
  readonly problem: Said | null
  /** Of those that were made here. */
  readonly latest: LatestBackup | null
}

/** Makes backups, one at a time, and keeps the last. */
export interface BackupDesk {
  /** The path of the last one. */
  readonly file: string
  read(): Promise<BackupState>
  /** Begins one, once `record` has put it on record. Rejects if that does. */
  begin(record: () => Promise<void>): Promise<Result<true, Failure>>
  /** Reserves the last one for a request that fetches it, until the returned function is called; null: another has it. */
  reserve(): (() => void) | null
  /** Breaks off one that is being made. */
  close(): Promise<void>
}

const PATH = '/api/server/backup'

/** Backups of the database, for those who have no shell. */
export function backupRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, desk: BackupDesk): void {
  const preHandler = operatorsOnly(ctx, 'sluice backup FILE')
  const state = async () => ok(toRecord(ctx, await desk.read()))
  app.addHook('onClose', () => desk.close())
  app.get(
    PATH,
    {
      ...document('server', 'The last backup that the node that answers has made, and whether one is being made', {
        operationId: 'readBackup',
        data: Backup,
      }),
      preHandler,
    },
    async (_request, reply) => sendResult(reply, await state()),
  )
  app.post(
    PATH,
    {
      ...document('server', 'Begin a backup of the database, which replaces the last one when it is complete', {
        operationId: 'createBackup',
        data: Backup,
      }),
      preHandler,
    },
    async (request, reply) => {
      const begun = await desk.begin(() => auditBackup(ctx, actorOf(request, peerOf), 'backup.create', ''))
      return begun.ok ? sendResult(reply, await state()) : sendFailure(reply, begun.error)
    },
  )
  app.get(
    `${PATH}/file`,
    {
      ...document(
        'server',
        'Fetch the last backup, or a range of it; one request at a time, of an admin in the dashboard',
        {
          operationId: 'downloadBackup',
          answer: Type.Any({ description: '`application/x-tar`' }),
        },
      ),
      preHandler: [preHandler, sessionsOnly],
    },
    async (request, reply) => {
      const { latest } = await desk.read()
      if (latest === null)
        return sendFailure(reply, failure('not_found', 'There is no backup: POST /api/server/backup'))
      const release = desk.reserve()
      if (release === null)
        return sendFailure(reply, failure('conflict', 'The backup is being fetched by another request'))
      // A client that has gone meanwhile causes no event any more.
      if (reply.raw.destroyed) release()
      else reply.raw.once('close', release)
      await auditBackup(ctx, actorOf(request, peerOf), 'backup.download', latest.createdAt)
      return send(request, reply, desk.file, latest)
    },
  )
}

/** An API secret gives no access to users, and a backup has the hashes of their passwords. */
async function sessionsOnly({ user }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  const why = 'Forbidden: a backup has the password hashes of users; an admin fetches it in the dashboard'
  return user ? undefined : sendFailure(reply, failure('forbidden', why))
}

const send = (request: FastifyRequest, reply: FastifyReply, path: string, { createdAt, bytes }: LatestBackup) =>
  sendStoredFile(request, reply, {
    path,
    size: bytes,
    tag: createdAt,
    type: 'application/x-tar',
    name: `sluice-${createdAt.replaceAll(/[:.]/g, '')}.tar`,
    disposition: 'attachment',
  })

const toRecord = ({ sessions }: Context, { problem, latest, ...rest }: BackupState) => ({
  node: sessions.node,
  ...rest,
  ...saidAs('problem', problem),
  ...(latest === null ? {} : { latest }),
})

const Backup = Type.Object({
  node: Type.String({ description: 'The id of the node that answers.' }),
  engine: Type.Enum(['sqlite', 'postgres'], { description: '`postgres`: use `sluice backup FILE`.' }),
  isRunning: Type.Boolean({ description: 'One is being made.' }),
  problem: Type.Optional(Type.String({ description: 'Why the last attempt made none.' })),
  problemSentences: Type.Optional(saidAsData()),
  latest: Type.Optional(
    Type.Object(
      {
        createdAt: Type.String({ format: 'date-time' }),
        version: Type.String({ description: 'Of Sluice.' }),
        bytes: count(),
        accounts: count(),
        tokens: count(),
        sealedBy: Type.Array(Type.String(), { description: 'Ids of the sealing keys that a restore needs.' }),
      },
      { description: 'Absent: none was made here. Recordings and the sealing key are not in it.' },
    ),
  ),
})
