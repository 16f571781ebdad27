import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { UpdateReader } from '../../../commands/streams/accountUpdates.ts'
import type { UpdateHub } from '../../../commands/streams/updateHub.ts'
import { isSignedIn } from '../../../commands/users/sessions.ts'
import { failure } from '../../../core/errors.ts'
import { userOf } from './auth.ts'
import { sessionValue } from './cookie.ts'
import { lastsWhile } from '../httpConnection.ts'
import { sendsFrom } from '../unsent.ts'
import { operation } from './openapi.ts'
import { refuse } from './parts.ts'

/** So that proxies and browsers see that the connection lives. */
const HEARTBEAT_MS = 15_000
const LOOK_MS = 3_000
/** A session that cannot be checked for this long counts as ended. */
const UNCHECKED_MAX_MS = 60_000
/** A reader with more unread bytes is dropped. It comes back with `Last-Event-ID`. */
const UNREAD_MAX_BYTES = 4_000_000
const TOO_MANY = 'Too many event streams are open: close other pages of the dashboard'

/** `GET /events`: what changes, as Server-Sent Events. Ends with the session, and at once when the server stops. */
export function dashboardEventRoutes(app: FastifyInstance, ctx: Context, hub: UpdateHub): void {
  app.addHook('preClose', () => hub.stop())
  app.get(
    '/events',
    {
      ...operation('followEvents', 'overview', 'Follow what changes, as Server-Sent Events', {
        answer: Type.String({
          description: '`text/event-stream`; docs/reference/dashboard-events.md lists the events.',
        }),
      }),
      exposeHeadRoute: false,
    },
    (request, reply) => {
      const stream = new EventStream()
      const { accountId, id: userId } = userOf(request)
      const reader: UpdateReader = {
        accountId,
        userId,
        send: ({ id, name, json }) => stream.write(`id: ${id}\nevent: ${name}\ndata: ${json}\n\n`),
        end: () => stream.end(),
      }
      const close = hub.open(reader, lastEventId(request))
      if (close === null) return refuse(reply, failure('rate_limited', TOO_MANY))
      stream.readable.once('close', close)
      // Its own looks end it with a last event, and not its connection.
      lastsWhile(reply.raw, () => Promise.resolve(true))
      void watchSession(ctx, request, stream)
      return answer(reply, stream)
    },
  )
}

/** `X-Accel-Buffering`: nginx would collect the events. */
function answer(reply: FastifyReply, { readable }: EventStream): FastifyReply {
  sendsFrom(reply.raw, readable)
  return reply.type('text/event-stream; charset=utf-8').header('X-Accel-Buffering', 'no').send(readable)
}

function lastEventId({ headers }: FastifyRequest): string | null {
  const value = headers['last-event-id']
  return typeof value === 'string' && value.length <= 64 && value !== '' ? value : null
}

/** Ends the stream soon after its session. A reader that has not read the rest by then is dropped: it would still count. */
async function watchSession({ clock, ...ctx }: Context, request: FastifyRequest, stream: EventStream): Promise<void> {
  const value = sessionValue(request) ?? ''
  const { role } = userOf(request)
  let checkedAtMs = clock.monotonic()
  for (let waitedMs = 0; !stream.readable.destroyed; waitedMs += LOOK_MS) {
    await clock.sleep(LOOK_MS)
    if (waitedMs % HEARTBEAT_MS === 0) stream.write(': \n\n')
    const isOpen = await isSignedIn({ clock, ...ctx }, value, role).catch(() => null)
    if (isOpen === true) checkedAtMs = clock.monotonic()
    if (isOpen !== false && clock.monotonic() - checkedAtMs <= UNCHECKED_MAX_MS) continue
    stream.end()
    await clock.sleep(LOOK_MS)
    stream.readable.destroy()
  }
}

/** The text of an event stream, with a bound on what its reader has not read. */
class EventStream {
  readonly readable = new Readable({ read: () => undefined })
  #isOver = false

  constructor() {
    // The browser comes back after this number of milliseconds.
    this.write('retry: 2000\n\n')
  }

  write(text: string): void {
    if (this.#isOver || this.readable.destroyed) return
    this.readable.push(text)
    if (this.readable.readableLength > UNREAD_MAX_BYTES) this.readable.destroy()
  }

  end(): void {
    if (!this.#isOver) this.readable.push(null)
    this.#isOver = true
  }
}
