import { createReadStream } from 'node:fs'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import {
  deleteRecordingHere,
  finishedRecording,
  listRecordings,
  noFile,
  noRecording,
  noThumbnail,
  readRecording,
} from '../../../commands/recordings/recordings.ts'
import type { DiskSpace } from '../../../base/diskSpace.ts'
import { fileSize } from '../../../base/files.ts'
import { signRecording } from '../../../commands/recordings/signRecording.ts'
import { switchRecording } from '../../../commands/recordings/switchRecording.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { type FieldErrors, failure } from '../../../core/errors.ts'
import { saidAsData } from '../../../core/notices.ts'
import { readRecordingLink, readSignRecording } from '../../../core/recordings/rules.ts'
import { RecordingLinkQuery, SignedRecording, SignRecording } from '../../../core/recordings/signSchema.ts'
import { SwitchRecording } from '../../../core/recordings/switchSchema.ts'
import { nodeBase } from '../../../core/streams/addresses.ts'
import { requestedAt, type ServerFacts } from '../about/server.ts'
import { accountOf, actorOf, seesSecrets } from '../auth.ts'
import { pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { sendRecordingFile } from './file.ts'

export interface RecordingRouteOptions {
  /** The finished file of a recording. */
  readonly pathOf: (id: string) => string
  /** Its thumbnail. */
  readonly thumbnailOf: (id: string) => string
  /** Host key of this node's files: the machine and its data directory. */
  readonly hostKey: string
  /** Space on the disk of the files; null: not known. */
  readonly diskSpace: () => Promise<DiskSpace | null>
  /** Removes the files of deleted recordings that are on this node. */
  readonly removeDeleted: () => Promise<void>
  /** Removes the files of a recording. */
  readonly removeFiles: (id: string) => Promise<void>
}

/** A server without files, for example to generate the OpenAPI document. */
export const NO_FILES: RecordingRouteOptions = {
  pathOf: () => '',
  thumbnailOf: () => '',
  hostKey: '',
  diskSpace: () => Promise.resolve(null),
  removeDeleted: () => Promise.resolve(),
  removeFiles: () => Promise.resolve(),
}

interface Parts extends RecordingRouteOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly sign: Mac
  readonly facts: () => ServerFacts
}

type ById = { Params: { recordingId: string } }

const TAG = 'recordings'
const ID = /^[1-9A-HJ-NP-Za-km-z]{22}$/

/** Recordings: list, fetch, delete. */
export function recordingRoutes(app: FastifyInstance, parts: Parts): void {
  const { ctx } = parts
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/recordings',
    document(TAG, 'List recordings, newest first', {
      operationId: 'listRecordings',
      querystring: ListQuery,
      answer: ListAnswer,
    }),
    async (request, reply) => {
      const page = await listRecordings(ctx, parts.sign, accountOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
  const path = '/api/recordings/:recordingId'
  app.get<ById>(
    path,
    document(TAG, 'Read a recording', { operationId: 'readRecording', data: Recording }),
    async (request, reply) =>
      sendResult(reply, await readRecording(ctx, accountOf(request), request.params.recordingId)),
  )
  app.delete<ById>(
    path,
    document(TAG, 'Delete a recording with its file', { operationId: 'deleteRecording', data: Type.Boolean() }),
    (request, reply) => remove(parts, request, reply),
  )
  app.get<ById>(
    `${path}/download`,
    document(TAG, 'Fetch the MP4 of a completed recording, or a range of it', {
      operationId: 'downloadRecording',
      answer: Type.Any(),
    }),
    (request, reply) => download(parts, request, reply),
  )
  signRoutes(app, parts)
  app.get<ById>(
    `${path}/thumbnail`,
    document(TAG, 'A frame of a completed recording, a JPEG', {
      operationId: 'readRecordingThumbnail',
      answer: Type.Any({ description: '`image/jpeg`' }),
    }),
    (request, reply) => sendThumbnail(parts, request, reply),
  )
  app.post<{ Params: { streamName: string } }>(
    '/api/streams/:streamName/record',
    document(TAG, 'Record a stream on the air from now on, or no longer', {
      operationId: 'switchRecording',
      body: SwitchRecording,
      data: Type.Object({ record: Type.Boolean() }),
    }),
    async (request, reply) => {
      const { params, body } = request
      return sendResult(reply, await switchRecording(ctx, actorOf(request, parts.peerOf), params.streamName, body))
    },
  )
}

/** Two ways to the same link. */
function signRoutes(app: FastifyInstance, parts: Parts): void {
  const path = '/api/recordings/:recordingId'
  app.post<ById>(
    `${path}/sign`,
    document(TAG, 'Sign a link to a completed recording, which a page can play until it ends', {
      operationId: 'signRecording',
      body: SignRecording,
      data: SignedRecording,
    }),
    (request, reply) => sign(parts, request, reply, readSignRecording(request.body)),
  )
  app.get<ById & { Querystring: Record<string, unknown> }>(
    `${path}/link`,
    document(TAG, 'As `sign`, for programs that only read', {
      operationId: 'readRecordingLink',
      querystring: RecordingLinkQuery,
      data: SignedRecording,
    }),
    (request, reply) =>
      seesSecrets(request)
        ? sign(parts, request, reply, readRecordingLink(request.query))
        : sendFailure(reply, failure('forbidden', 'Forbidden: your role is viewer, which may make no links')),
  )
}

async function remove(parts: Parts, request: FastifyRequest<ById>, reply: FastifyReply): Promise<FastifyReply> {
  const { ctx, peerOf } = parts
  const { recordingId } = request.params
  const deleted = await deleteRecordingHere(ctx, actorOf(request, peerOf), recordingId, parts.removeFiles)
  if (deleted.ok) {
    // The recording is deleted in any case; the next round removes files that remain.
    await parts
      .removeDeleted()
      .catch((error: unknown) =>
        ctx.log.warn({ err: error }, 'files of a deleted recording could not be removed; trying again later'),
      )
  }
  return sendResult(reply, deleted)
}

async function download(parts: Parts, request: FastifyRequest<ById>, reply: FastifyReply): Promise<FastifyReply> {
  const { recordingId } = request.params
  const found = await finished(parts, request)
  if (!found.ok) return sendFailure(reply, found.error)
  const path = parts.pathOf(recordingId)
  const size = await fileSize(path)
  if (size === null) return sendFailure(reply, noFile(found.value, parts.hostKey))
  const { accountId } = found.value
  return sendRecordingFile(parts.ctx, request, reply, { accountId, recordingId, path, size, disposition: 'attachment' })
}

async function sign(
  parts: Parts,
  request: FastifyRequest<ById>,
  reply: FastifyReply,
  seconds: Result<number, FieldErrors>,
): Promise<FastifyReply> {
  const { ctx, peerOf, facts, hostKey } = parts
  const { recordingId } = request.params
  const actor = actorOf(request, peerOf)
  const signed = await signRecording(ctx, actor, { id: recordingId, hostKey, seconds })
  if (!signed.ok) return sendFailure(reply, signed.error)
  const { path, expiresOn } = signed.value
  return sendResult(reply, ok({ url: nodeBase({ ...facts(), ...requestedAt(ctx, request) }) + path, expiresOn }))
}

async function sendThumbnail(parts: Parts, request: FastifyRequest<ById>, reply: FastifyReply): Promise<FastifyReply> {
  const { recordingId } = request.params
  const found = await finished(parts, request)
  if (!found.ok) return sendFailure(reply, found.error)
  const path = parts.thumbnailOf(recordingId)
  const size = await fileSize(path)
  if (size === null) return sendFailure(reply, noThumbnail(found.value, parts.hostKey))
  // It never changes.
  reply.header('Cache-Control', 'private, max-age=86400, immutable')
  return reply.type('image/jpeg').header('Content-Length', size).send(createReadStream(path))
}

const finished = async ({ ctx }: Parts, request: FastifyRequest<ById>): ReturnType<typeof finishedRecording> => {
  const { recordingId } = request.params
  return ID.test(recordingId) ? finishedRecording(ctx, accountOf(request), recordingId) : err(noRecording(recordingId))
}

const Recording = Type.Object({
  id: Type.String(),
  state: Type.Enum(['recording', 'processing', 'completed', 'error']),
  streamName: Type.String(),
  streamId: Type.String({ description: '`accountId/streamName`' }),
  tokenId: Type.Integer({ description: 'The publish token of the stream.' }),
  feedId: Type.String(),
  startedOn: Type.String({ format: 'date-time' }),
  endedOn: Type.Optional(Type.String({ format: 'date-time' })),
  bytes: Type.Optional(Type.Integer({ description: 'Size of the file.' })),
  durationMs: Type.Optional(Type.Integer()),
  tracks: Type.Array(
    Type.Object({
      type: Type.Enum(['video', 'audio']),
      codec: Type.String({ description: 'As it was broadcast.' }),
      width: Type.Optional(Type.Integer()),
      height: Type.Optional(Type.Integer()),
    }),
  ),
  problem: Type.Optional(Type.String({ description: 'Why there is no file, or it ended before its broadcast.' })),
  problemSentences: Type.Optional(saidAsData()),
  expiresOn: Type.Optional(Type.String({ format: 'date-time', description: 'When it is deleted; absent: it stays.' })),
  url: Type.Optional(Type.String({ description: 'Where it can be fetched, with an API secret.' })),
  thumbnailUrl: Type.Optional(Type.String({ description: 'Where its thumbnail is, of a recording with video.' })),
})

const ListQuery = Type.Object({
  streamName: Type.Optional(Type.String({ description: 'The whole name of the stream.' })),
  search: Type.Optional(Type.String({ description: 'A part of the name of the stream, in any case.' })),
  tokenId: Type.Optional(Type.Integer()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const ListAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(Recording),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})
