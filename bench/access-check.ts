/**
 * The access check over HTTP against a bare `node:http` server that parses the same request and sends the same JSON.
 * Measures requests per second of server CPU time, in interleaved slices of one run. The store holds 50,000 tokens; the
 * checked one has a pattern, an origin rule and a CIDR block.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { createToken } from '../src/commands/tokens/createToken.ts'
import { cliActor } from '../src/commands/context.ts'
import { runApp } from '../test/support/app.ts'
import { load, postRequest } from './lib/load.ts'
import { median, report } from './lib/report.ts'

const TOKENS = 50_000
const CONNECTIONS = 32
const SLICE_MS = 1000
/** Until then both servers compile the code of a request, on threads of their own, for longer where there is more of it. */
const WARM_UP_MS = 9000
const SLICES = 12

const question = (token: string): string =>
  JSON.stringify({
    action: 'publish',
    protocol: 'whip',
    streamName: 'studio-17',
    ip: '192.0.2.77',
    origin: 'https://www.example.com',
    token,
  })

type Ready = { port: number; secret: string; token: string }

if (process.argv[2] === 'sluice') await serveSluice()
else if (process.argv[2] === 'bare') serveBare()
else await compare()

async function serveSluice(): Promise<void> {
  const sluice = await runApp()
  const { ctx } = sluice.app
  const actor = cliActor(sluice.accountId)
  const rules = (i: number) => ({
    label: `token ${i}`,
    streams: [{ streamName: 'studio-[0-9]+', isRegex: true }],
    allowedOrigins: ['*.example.com'],
    allowedIpAddresses: ['192.0.2.0/24'],
  })
  let token = ''
  for (let made = 0; made < TOKENS; made += 100) {
    const batch = Array.from({ length: 100 }, (_, i) => createToken(ctx, actor, 'publish', rules(made + i)))
    for (const created of await Promise.all(batch)) if (created.ok) token = created.value.token
  }
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.on('disconnect', () => void sluice.close().then(() => process.exit()))
  process.send?.({ port: Number(new URL(sluice.base).port), secret: sluice.secret, token } satisfies Ready)
}

function serveBare(): void {
  let answer: unknown = null
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as { token: string }
      const body = JSON.stringify(asked.token === '' ? null : answer)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
      response.end(body)
    })
  })
  process.on('message', (message: { answer?: unknown }) => {
    if (message.answer !== undefined) answer = message.answer
    process.send?.(process.cpuUsage())
  })
  process.on('disconnect', () => process.exit())
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
}

/** The options with which Sluice starts Node. */
async function optionsOfSluice(): Promise<string[]> {
  const runtime = (await import(new URL('../bin/runtime.js', import.meta.url).href)) as { OPTIONS: string[] }
  return runtime.OPTIONS
}

async function compare(): Promise<void> {
  const sluice = fork(process.argv[1] as string, ['sluice'], { execArgv: await optionsOfSluice() })
  const bare = fork(process.argv[1] as string, ['bare'])
  const [{ port, secret, token }] = (await once(sluice, 'message')) as [Ready]
  const barePort = ((await once(bare, 'message')) as [{ port: number }])[0].port
  const body = question(token)
  const request = postRequest('/api/access/check', body, { authorization: `Bearer ${secret}` })
  const response = await fetch(`http://127.0.0.1:${port}/api/access/check`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body,
  })
  const answer = (await response.json()) as { data: { allowed: boolean } }
  if (!answer.data.allowed) throw new Error(JSON.stringify(answer))
  await ask(bare, { answer })
  const measured = { sluice: [] as number[], bare: [] as number[] }
  await load(port, request, CONNECTIONS, WARM_UP_MS)
  await load(barePort, request, CONNECTIONS, WARM_UP_MS)
  for (let slice = 0; slice < SLICES; slice++) {
    measured.sluice.push(await perCpuSecond(sluice, port, request))
    measured.bare.push(await perCpuSecond(bare, barePort, request))
  }
  const [ours, theirs] = [median(measured.sluice), median(measured.bare)]
  // Adjacent slices run under the same load of the machine, so the ratio is taken for each pair.
  const ratio = median(measured.sluice.map((each, slice) => each / (measured.bare[slice] ?? Number.NaN)))
  report({
    what: 'access decision over HTTP, requests per CPU second, of bare node:http',
    ratio,
    target: '>= 0.8',
    met: ratio >= 0.8,
    detail: `${Math.round(ours)} against ${Math.round(theirs)}; ${(1e6 / ours).toFixed(1)} us against ${(1e6 / theirs).toFixed(1)} us`,
  })
  sluice.disconnect()
  bare.disconnect()
}

async function perCpuSecond(server: ChildProcess, port: number, request: Buffer): Promise<number> {
  const before = await ask(server, {})
  const answered = await load(port, request, CONNECTIONS, SLICE_MS)
  const after = await ask(server, {})
  return (answered * 1e6) / (after.user + after.system - before.user - before.system)
}

async function ask(server: ChildProcess, message: object): Promise<NodeJS.CpuUsage> {
  server.send(message)
  return ((await once(server, 'message')) as [NodeJS.CpuUsage])[0]
}
