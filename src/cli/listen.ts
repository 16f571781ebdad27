import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../base/clock.ts'
import { err, ok, type Result } from '../base/result.ts'
import { failure } from '../core/errors.ts'
import { type Call, command } from './command.ts'
import { textFlag, toggleFlag, type ValuesOf, wholeOr } from './flag.ts'
import { type Callback, reported, reportText } from './listenReport.ts'
import { portProblem, reachableUrl } from './port.ts'
import { type CliRefusal, usage } from './refusal.ts'

const LOOPBACK = '127.0.0.1'
const HEADER_PREFIX = 'X-Service-'
/** A thumbnail is the largest thing that a webhook gets; this is far above any. */
const BODY_MAX_BYTES = 8 * 1024 * 1024
const CONNECTIONS_MAX = 64
const REQUEST_TIMEOUT_MS = 30_000
const SECRET_MAX_BYTES = 1024

const FLAGS = {
  port: wholeOr(8000, 'N', 'The TCP port; 0 takes any free one.', { max: 65_535 }),
  host: textFlag('ADDRESS', `The address to listen on; without it ${LOOPBACK}, so that only this machine can send.`),
  secret: textFlag('SECRET', "The webhook's secret, as its record has it."),
  'secret-stdin': toggleFlag('Read the secret from standard input, so that no list of processes shows it.'),
  'header-prefix': textFlag('PREFIX', `\`webhooks.headerPrefix\` of the sender, when it is not ${HEADER_PREFIX}`),
}

/** A receiver for trying webhooks out. It needs neither a configuration nor a store. */
export const listenCommand = command({
  path: ['listen'],
  summary: 'Receive callbacks, verify and print them, until Ctrl+C',
  detail: [
    'What is signed with the secret is answered with 204 and printed; anything else is answered with 400, and the reason',
    'is printed. With --json every line is one JSON value; the first says where it listens. A server sends to this',
    'machine only when its `webhooks.allowPrivateTargets` is true.',
  ].join('\n'),
  flags: FLAGS,
  examples: ['sluice listen --port 8000 --secret "$WEBHOOK_SECRET"', 'sluice listen --port 0 --secret-stdin --json'],
  run: async (call) => {
    const secret = await readSecret(call)
    if (!secret.ok) return secret
    const stopRequested = call.host.stopRequested()
    const server = receiver(call, secret.value)
    const listening = await listen(server, call.flags)
    if (!listening.ok) return listening
    say(call, { listening: listening.value }, `Listening on ${listening.value} (Ctrl+C ends it)`)
    await stopRequested
    server.close()
    server.closeAllConnections()
    return ok({ json: null, text: '' })
  },
})

type ListenCall = Call<typeof FLAGS>

async function readSecret({ flags, host }: ListenCall): Promise<Result<string, CliRefusal>> {
  if ((flags.secret === undefined) !== flags['secret-stdin']) {
    return err(usage('either --secret or --secret-stdin is required'))
  }
  const given = flags.secret === undefined ? await host.readStdin(SECRET_MAX_BYTES) : ok(flags.secret)
  if (!given.ok) return err(usage(`--secret-stdin: ${given.error}`))
  const secret = given.value.trim()
  const isBase64 = secret !== '' && Buffer.from(secret, 'base64').toString('base64') === secret
  return isBase64 ? ok(secret) : err(usage("the secret must be base64, as in the webhook's record"))
}

/** Listens, and answers the URL under which this machine reaches it. */
async function listen(server: Server, flags: ValuesOf<typeof FLAGS>): Promise<Result<string, CliRefusal>> {
  const host = flags.host ?? LOOPBACK
  const problem = await portProblem(host, flags.port)
  if (problem !== null) return err(failure('unavailable', problem.message))
  server.listen(flags.port, host)
  await once(server, 'listening')
  return ok(reachableUrl(host, (server.address() as AddressInfo).port))
}

function receiver(call: ListenCall, secret: string): Server {
  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS }
  const server = createServer(timeouts, (request, response) => {
    receive(call, secret, request, response).catch((error: unknown) => {
      // The sender went away in the middle of its request: there is nothing to show and nobody to answer.
      response.destroy(error as Error)
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  return server
}

async function receive(call: ListenCall, secret: string, request: IncomingMessage, response: ServerResponse) {
  if (request.method !== 'POST') return answer(response, 405)
  const body = await readBody(request)
  if (body === null) {
    show(call, { at: systemClock.now(), reason: 'too_large', bytes: BODY_MAX_BYTES })
    return answer(response, 413)
  }
  const headerPrefix = call.flags['header-prefix'] ?? HEADER_PREFIX
  const { headers } = request
  const at = systemClock.now()
  const verified = await call.host.verifyCallback({ body, headers, secret, headerPrefix, nowMs: at })
  if (verified.ok) show(call, { at, id: verified.value.id, headers, headerPrefix, body })
  else show(call, { at, reason: verified.error, bytes: body.length })
  return answer(response, verified.ok ? 204 : 400)
}

/** The whole body, or null when it is too long to be kept. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  // The connection must outlive a body that is too long, to carry the refusal.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length
    if (bytes > BODY_MAX_BYTES) return null
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, status === 204 ? {} : { connection: 'close' }).end()
}

const show = (call: ListenCall, callback: Callback): void => say(call, reported(callback), reportText(callback))

/** On one line for programs, as text for people. */
function say({ globals, host }: ListenCall, json: object, people: string): void {
  host.stdout(`${globals.json ? JSON.stringify(json) : people}\n`)
}
