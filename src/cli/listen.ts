import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { err, ok } from '../base/result.ts'
import { failure } from '../core/errors.ts'
import { type Call, command, type CommandResult } from './command.ts'
import { textFlag, toggleFlag, type ValuesOf, wholeOr } from './flag.ts'
import { type Callback, reported, reportText } from './listenReport.ts'
import { jsonLine } from './print.ts'
import { portProblem, reachableUrl } from './port.ts'
import { usage } from './refusal.ts'

const LOOPBACK = '127.0.0.1'
const HEADER_PREFIX = 'X-Service-'
/** A thumbnail is the largest callback. This is far above any. */
const BODY_MAX_BYTES = 8 * 1024 * 1024
const CONNECTIONS_MAX = 64
const REQUEST_TIMEOUT_MS = 30_000
const SECRET_MAX_BYTES = 1024

const FLAGS = {
  port: wholeOr(8000, 'N', 'The TCP port; 0 takes any free one.', { max: 65_535 }),
  host: textFlag('ADDRESS', `The address to listen on; by default ${LOOPBACK}, which only this machine can reach.`),
  secret: textFlag('SECRET', "The webhook's secret, as in its record."),
  'secret-stdin': toggleFlag('Read the secret from standard input, so that no process list shows it.'),
  'header-prefix': textFlag('PREFIX', `\`webhooks.headerPrefix\` of the sender, when it is not ${HEADER_PREFIX}`),
}

/** A receiver to test webhooks. It needs neither a configuration nor a store. */
export const listenCommand = command({
  path: ['listen'],
  summary: 'Receive callbacks, verify and print them, until Ctrl+C',
  detail: [
    'It prints callbacks that are signed with the secret and answers 204. It answers 400 to others and prints the reason.',
    'With --json every line is one JSON value; the first contains the URL of the receiver. A server sends to this',
    'machine only if its `webhooks.allowPrivateTargets` is true.',
  ].join('\n'),
  flags: FLAGS,
  examples: ['sluice listen --port 8000 --secret "$WEBHOOK_SECRET"', 'sluice listen --port 0 --secret-stdin --json'],
  run: async (call) => {
    const secret = await readSecret(call)
    if (!secret.ok) return secret
    const stopRequested = call.host.stopRequested(null)
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

async function readSecret({ flags, host }: ListenCall): CommandResult<string> {
  if ((flags.secret === undefined) !== flags['secret-stdin']) {
    return err(usage('either --secret or --secret-stdin is required'))
  }
  const given = flags.secret === undefined ? await host.readStdin(SECRET_MAX_BYTES) : ok(flags.secret)
  if (!given.ok) return err(usage(`--secret-stdin: ${given.error}`))
  const secret = given.value.trim()
  const isBase64 = secret !== '' && Buffer.from(secret, 'base64').toString('base64') === secret
  return isBase64 ? ok(secret) : err(usage("the secret must be base64, as in the webhook's record"))
}

/** Listens, and returns the URL of the receiver on this machine. */
async function listen(server: Server, flags: ValuesOf<typeof FLAGS>): CommandResult<string> {
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
      // The sender disconnected in the middle of its request, so there is nothing to show or to answer.
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
    show(call, { at: call.host.clock.now(), reason: 'too_large', bytes: BODY_MAX_BYTES })
    return answer(response, 413)
  }
  const headerPrefix = call.flags['header-prefix'] ?? HEADER_PREFIX
  const { headers } = request
  const at = call.host.clock.now()
  const verified = await call.host.verifyCallback({ body, headers, secret, headerPrefix, nowMs: at })
  if (verified.ok) show(call, { at, id: verified.value.id, headers, headerPrefix, body })
  else show(call, { at, reason: verified.error, bytes: body.length })
  return answer(response, verified.ok ? 204 : 400)
}

/** The whole body, or null when it is too long. */
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

/** One line of JSON, or text for a terminal. */
function say({ globals, host }: ListenCall, json: object, people: string): void {
  host.stdout(globals.json ? jsonLine(json) : `${people}\n`)
}
