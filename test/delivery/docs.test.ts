import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { renderPayload } from '../../src/core/webhooks/events.ts'
import { exampleEvent } from '../../src/core/webhooks/examples.ts'
import { createEgress } from '../../src/net/egress.ts'
import { headerProfile, signatureHeaders } from '../../src/delivery/signature.ts'
import { ownPort } from '../support/ownPort.ts'

/** Runs the receivers of docs/guides/webhook-receiver.md unchanged and sends them a real callback. */
const page = readFileSync(new URL('../../docs/guides/webhook-receiver.md', import.meta.url), 'utf8')
const dir = mkdtempSync(join(tmpdir(), 'sluice-docs-'))
const SECRET = Buffer.alloc(32, 7).toString('base64')
const egress = createEgress({ allowPrivateTargets: true })
const running: ChildProcess[] = []

afterEach(async () => {
  for (const child of running.splice(0)) {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
})
afterAll(async () => {
  await egress.close()
  rmSync(dir, { recursive: true })
})

function codeOf(language: string): string {
  const [, code] = page.match(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``)) ?? []
  return code ?? ''
}

/** Starts the example and waits until it accepts connections. */
async function start(command: string, file: string, language: string): Promise<number> {
  writeFileSync(join(dir, file), codeOf(language))
  const port = await ownPort()
  const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) }
  running.push(spawn(command, [join(dir, file)], { env, stdio: 'ignore' }))
  await expect.poll(() => send(port, 'nothing')).toBe(400)
  return port
}

/** The status of a callback signed with `secret`; null without an answer. */
async function send(port: number, secret: string, type: 'Feeds' | 'Thumbnail' = 'Feeds'): Promise<number | null> {
  const made = exampleEvent(type, { accountId: 'a1b2c3', nowMs: Date.now() })
  const body = made.kind === 'event' ? renderPayload(made.event, Date.now()) : Buffer.from(made.image)
  const contentType = made.kind === 'event' ? 'application/json' : 'image/jpeg'
  const signed = signatureHeaders({ profile: headerProfile(), secret, id: 'evt_1', timestampMs: Date.now(), body })
  const headers = { ...signed, 'content-type': contentType }
  const outcome = await egress.send({ url: `http://127.0.0.1:${port}/`, method: 'POST', headers, body })
  return outcome.kind === 'answered' ? outcome.status : null
}

const hasPython = spawnSync('python3', ['--version']).status === 0

describe('the receiver of the documentation', () => {
  test('in TypeScript accepts a callback and refuses a forged one', async () => {
    const port = await start(process.execPath, 'receiver.ts', 'ts')
    expect(await send(port, SECRET)).toBe(204)
    expect(await send(port, Buffer.alloc(32, 8).toString('base64'))).toBe(400)
    await takesThumbnails(port)
  })

  test.skipIf(!hasPython)('in Python does the same', async () => {
    const port = await start('python3', 'receiver.py', 'python')
    expect(await send(port, SECRET)).toBe(204)
    expect(await send(port, Buffer.alloc(32, 8).toString('base64'))).toBe(400)
    await takesThumbnails(port)
  })
})

/** An image is not JSON: it is verified too, and the next event is accepted. */
async function takesThumbnails(port: number): Promise<void> {
  expect(await send(port, SECRET, 'Thumbnail')).toBe(204)
  expect(await send(port, Buffer.alloc(32, 8).toString('base64'), 'Thumbnail')).toBe(400)
  expect(await send(port, SECRET)).toBe(204)
}
