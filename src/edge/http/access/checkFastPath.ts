import type { IncomingMessage, ServerResponse } from 'node:http'
import { authenticateFromMemory, authenticateSecret } from '../../../commands/accounts/authenticate.ts'
import { checkAccess, checkFromMemory, type CheckAnswer } from '../../../commands/access/checkAccess.ts'
import type { Context } from '../../../commands/context.ts'
import type { Result } from '../../../base/result.ts'
import { ERRORS, type Failure, REFUSALS_PAGE } from '../../../core/errors.ts'
import { bearer, CHALLENGE, INVALID_SECRET } from '../auth.ts'
import { parseJson } from '../body.ts'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import { failureBody, failureOf, helpLink } from '../problem.ts'

export interface CheckFastPathOptions extends FastPathOptions {
  readonly bodyLimitBytes: number
}

interface Body {
  readonly text: string
  /** How long it is, as a header. */
  readonly bytes: string
  /** ASCII is Latin-1 too, which is written faster. */
  readonly encoding: 'latin1' | 'utf8'
}

const PATH = '/api/access/check'
const HELP_LINK = helpLink(PATH, REFUSALS_PAGE) ?? ''
const FIXED_HEAD = ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store']

/**
 * The fast path for the one request that backends send for every viewer: `POST /api/access/check`. The framework's
 * hooks, serialiser and life cycle cost more than the decision. The fast path takes only a plain request (this exact
 * path, JSON with a length within the limit, an API secret that memory holds). It leaves everything else, untouched, to
 * the framework's route, so that every refusal is made in one place. `test/http/checkFastPath.test.ts` holds the two to
 * the same answers.
 */
export function checkFastPath(ctx: Context, options: CheckFastPathOptions): FastPath {
  return (request, response) => {
    if (request.url !== PATH || request.method !== 'POST' || !isPlain(request, options.bodyLimitBytes)) return false
    const presented = bearer(request.headers.authorization)
    const secret = presented === null ? null : authenticateFromMemory(ctx, presented)
    if (secret === null) return false
    const refuse = (error: unknown): void =>
      send(response, options, { ok: false, error: failureOf(error, ctx.sampled.refusals, 'check') })
    const check = (bytes: Buffer): void => {
      try {
        const body = parseJson(bytes)
        const answer = checkFromMemory(ctx, secret.accountId, body)
        if (answer !== null) send(response, options, answer)
        else checkAccess(ctx, secret.accountId, body).then((late) => send(response, options, late), refuse)
      } catch (error) {
        refuse(error)
      }
    }
    // As in the framework's route, the secret may have been deleted while its holder kept the body back.
    const checkLate = (bytes: Buffer): void =>
      void authenticateSecret(ctx, presented ?? '').then(
        (found) =>
          found?.id === secret.id ? check(bytes) : send(response, options, { ok: false, error: INVALID_SECRET }),
        refuse,
      )
    readBody(request, check, checkLate)
    return true
  }
}

function isPlain({ headers }: IncomingMessage, limit: number): boolean {
  const length = Number(headers['content-length'])
  if (headers['content-encoding'] !== undefined || headers.expect !== undefined) return false
  return length > 0 && length <= limit && headers['content-type'] === 'application/json'
}

/**
 * Mostly the body comes in one packet with the head. Then all of it is there once the parser has gone through the packet,
 * and to look once costs less than the events of the stream. The parser runs what `process.nextTick` was given before it
 * reports the end of the body, so that is too early to look.
 */
function readBody(request: IncomingMessage, done: (body: Buffer) => void, doneLate: (body: Buffer) => void): void {
  setImmediate(() => {
    const there = request.read() as Buffer | null
    if (request.complete && there !== null) done(there)
    else readRest(request, there, doneLate)
  })
}

/** The parser holds the sender to `Content-Length`, which is within the limit; a body that is cut short never ends. */
function readRest(request: IncomingMessage, first: Buffer | null, done: (body: Buffer) => void): void {
  const chunks = first === null ? [] : [first]
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => done(Buffer.concat(chunks)))
}

function send(response: ServerResponse, options: CheckFastPathOptions, result: Result<CheckAnswer, Failure>): void {
  const status = result.ok ? 200 : ERRORS[result.error.code].status
  const body = result.ok ? bodyOf(result.value) : asBody(failureBody(result.error))
  options.answered('POST', PATH, status)
  const head = [...FIXED_HEAD, 'Content-Length', body.bytes, 'X-Request-Id', options.requestId()]
  if (status === 503) head.push('Retry-After', '1')
  if (status === 401) head.push(...CHALLENGE)
  if (!result.ok) head.push('Link', HELP_LINK)
  response.writeHead(status, head)
  response.end(body.text, body.encoding)
}

function asBody(value: object): Body {
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  return { text, bytes: `${bytes}`, encoding: bytes === text.length ? 'latin1' : 'utf8' }
}

const bodyOf = (answer: CheckAnswer): Body =>
  answer.allowed ? admissions.bodyOf(answer) : asBody({ status: 'success', data: answer })

/** An admission passes one of few lists of steps, whatever the token. */
const ADMISSIONS_MAX = 16

/**
 * The bodies of admissions, written once for each list of steps: the steps of an admission are constants of the rules. The
 * steps of a refusal may name an address, so they would never be found again.
 */
class AdmissionBodies {
  readonly #written: { readonly answer: CheckAnswer; readonly body: Body }[] = []
  #next = 0

  bodyOf(answer: CheckAnswer): Body {
    for (const written of this.#written) if (isSame(written.answer, answer)) return written.body
    const body = asBody({ status: 'success', data: answer })
    this.#written[this.#next] = { answer, body }
    this.#next = (this.#next + 1) % ADMISSIONS_MAX
    return body
  }
}

const admissions = new AdmissionBodies()

function isSame(one: CheckAnswer, other: CheckAnswer): boolean {
  if (one.live !== other.live || one.trace.length !== other.trace.length) return false
  for (let step = 0; step < one.trace.length; step++) if (one.trace[step] !== other.trace[step]) return false
  return true
}
