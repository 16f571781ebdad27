import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fileSize } from '../../../base/files.ts'
import { isoTime } from '../../../base/time.ts'
import type { Context } from '../../../commands/context.ts'
import { isStillMaker } from '../../../commands/recordings/linkMaker.ts'
import { readLink } from '../../../commands/recordings/links.ts'
import { finishedRecording } from '../../../commands/recordings/recordings.ts'
import { lastsWhile } from '../httpConnection.ts'
import { sendPreflight } from '../media/cors.ts'
import { type HttpRefusal, plainErrorHandler, sendRefusal } from '../media/refusal.ts'
import { sendRecordingFile } from './file.ts'
import type { RecordingRouteOptions } from './routes.ts'

type LinkRequest = {
  Params: { accountId: string; file: string }
  Querystring: { expires?: unknown; by?: unknown; signature?: unknown; download?: unknown }
}

const LINK = '/recordings/:accountId/:file'

/** What pages may read of an answer, for those that read ranges themselves. */
const EXPOSED = 'Accept-Ranges, Content-Range, ETag, X-Request-Id'

const INVALID: HttpRefusal = {
  status: 403,
  text: 'Forbidden: this link is not valid; copy all of it, or ask for another',
}
const DELETED: HttpRefusal = { status: 404, text: 'Not found: this recording was deleted' }
const NO_MAKER: HttpRefusal = {
  status: 410,
  text: 'Gone: the API secret or the user that made this link is no longer valid',
}
const AT_ANOTHER_NODE: HttpRefusal = { status: 404, text: 'Not found: the file of this recording is at another node' }

/** Recordings for pages: a signed link needs no secret. */
export async function recordingLinkRoutes(
  app: FastifyInstance,
  ctx: Context,
  options: RecordingRouteOptions,
): Promise<void> {
  await app.register(async (scope) => {
    scope.setErrorHandler(plainErrorHandler(ctx.sampled.refusals))
    scope.options(LINK, (request, reply) => sendPreflight(request, reply, 'GET, HEAD, OPTIONS'))
    scope.get<LinkRequest>(LINK, (request, reply) => sendLinked({ ...options, ctx }, request, reply))
  })
}

async function sendLinked(
  { ctx, pathOf, hostKey }: RecordingRouteOptions & { readonly ctx: Context },
  request: FastifyRequest<LinkRequest>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const linked = readLink(ctx, request.params, request.query)
  if (linked === null) return refuse(reply, INVALID)
  const { accountId, recordingId, maker, expiresAtMs } = linked
  if (ctx.clock.now() >= expiresAtMs) return refuse(reply, ended(expiresAtMs))
  if (!(await isStillMaker(ctx, accountId, maker))) return refuse(reply, NO_MAKER)
  const found = await finishedRecording(ctx, accountId, recordingId)
  if (!found.ok) return refuse(reply, DELETED)
  const path = pathOf(recordingId)
  const size = await fileSize(path)
  if (size === null) return refuse(reply, found.value.hostKey === hostKey ? DELETED : AT_ANOTHER_NODE)
  lastsWhile(reply.raw, () => isStillMaker(ctx, accountId, maker))
  reply.header('Access-Control-Expose-Headers', EXPOSED)
  const disposition = request.query.download === undefined ? 'inline' : 'attachment'
  return sendRecordingFile(ctx, request, reply, { accountId, recordingId, path, size, disposition })
}

const refuse = (reply: FastifyReply, refused: HttpRefusal): FastifyReply =>
  sendRefusal(reply.header('Cache-Control', 'no-store'), refused)

const ended = (atMs: number): HttpRefusal => ({
  status: 410,
  text: `Gone: this link ended at ${isoTime(atMs)}`,
})
