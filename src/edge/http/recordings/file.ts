import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { finishedRecording } from '../../../commands/recordings/recordings.ts'
import { lastsWhileThere } from '../httpConnection.ts'
import { sendStoredFile, type StoredFile } from '../storedFile.ts'

interface RecordingFile extends Pick<StoredFile, 'path' | 'size' | 'disposition'> {
  readonly accountId: string
  readonly recordingId: string
}

/** Answers with the MP4 of a recording or a range of it, until the recording is deleted. */
export function sendRecordingFile(
  ctx: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  { accountId, recordingId, ...file }: RecordingFile,
): FastifyReply {
  lastsWhileThere(reply.raw, async () => (await finishedRecording(ctx, accountId, recordingId)).ok)
  return sendStoredFile(request, reply, { ...file, tag: recordingId, type: 'video/mp4', name: `${recordingId}.mp4` })
}
