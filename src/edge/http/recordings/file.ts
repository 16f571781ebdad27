import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendStoredFile, type StoredFile } from '../storedFile.ts'

/** Answers with the MP4 of a recording or a range of it. */
export const sendRecordingFile = (
  request: FastifyRequest,
  reply: FastifyReply,
  { recordingId, ...file }: Pick<StoredFile, 'path' | 'size' | 'disposition'> & { readonly recordingId: string },
): FastifyReply =>
  sendStoredFile(request, reply, { ...file, tag: recordingId, type: 'video/mp4', name: `${recordingId}.mp4` })
