import type { IncomingMessage, ServerResponse } from 'node:http'
import { authenticateSecret } from '../../commands/authenticate.ts'
import { checkAccess } from '../../commands/checkAccess.ts'
import type { Context } from '../../commands/context.ts'
import type { Result } from '../../base/result.ts'
import { ERRORS, type Failure } from '../../core/errors.ts'
import { bearer } from './auth.ts'
import { parseJson } from './body.ts'
import { failureBody, failureOf } from './problem.ts'

export interface CheckLaneOptions {
  bodyLimitBytes: number
  requestId: () => string
  answered: (method: string, route: string, status: number) => void
}

const PATH = '/api/access/check'

/**
 * The short way for the one request that backends send for every viewer: `POST /api/access/check`. The framework's
 * hooks, serialiser and life cycle cost more than the decision. The lane takes only a plain request (this exact path,
 * JSON
 * with a length within the limit, a valid secret); it leaves everything else, untouched, to the framework's route, so
 * that every refusal is made in one place. `test/http/checkLane.test.ts` holds the two to the same answers.
 */
export function checkLane(ctx: Context, options: CheckLaneOptions) {
  /** True when the lane has taken the request. */
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url !== PATH || request.method !== 'POST' || !isPlain(request, options.bodyLimitBytes)) return false
    const presented = bearer(request.headers.authorization)
    const secret = presented === null ? undefined : knownSecret(ctx, presented)
    if (secret === undefined) return false
    readBody(request, (body) => {
      answer(ctx, secret.accountId, body).then(
        (answered) => send(response, options, answered),
        (error: unknown) => send(response, options, { ok: false, error: failureOf(error, ctx.log, '') }),
      )
    })
    return true
  }
}

function isPlain({ headers }: IncomingMessage, limit: number): boolean {
  const length = Number(headers['content-length'])
  return length > 0 && length <= limit && headers['content-type'] === 'application/json' && headers.expect === undefined
}

/** Only what is in memory: a look-up that has to wait, or that fails, is left to the framework's route. */
function knownSecret(ctx: Context, presented: string): { accountId: string } | undefined {
  try {
    const found = authenticateSecret(ctx, presented)
    return found instanceof Promise ? undefined : found
  } catch {
    return undefined
  }
}

/** The parser holds the sender to `Content-Length`, which is within the limit; a body that is cut short never ends. */
function readBody(request: IncomingMessage, done: (body: Buffer) => void): void {
  let first: Buffer | null = null
  const rest: Buffer[] = []
  request.on('data', (chunk: Buffer) => {
    if (first === null) first = chunk
    else rest.push(chunk)
  })
  request.on('end', () =>
    done(rest.length === 0 ? (first ?? Buffer.alloc(0)) : Buffer.concat([first ?? Buffer.alloc(0), ...rest])),
  )
}

async function answer(ctx: Context, accountId: string, body: Buffer): Promise<Result<unknown, Failure>> {
  return checkAccess(ctx, accountId, parseJson(body))
}

function send(response: ServerResponse, options: CheckLaneOptions, result: Result<unknown, Failure>): void {
  const status = result.ok ? 200 : ERRORS[result.error.code].status
  const body = JSON.stringify(result.ok ? { status: 'success', data: result.value } : failureBody(result.error))
  options.answered('POST', PATH, status)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': options.requestId(),
    ...(status === 503 ? { 'Retry-After': '1' } : {}),
  })
  response.end(body)
}
