import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RunningApp } from './app.ts'

export interface Received {
  /** `recording started`, … or `thumbnail`. */
  readonly name: string
  readonly data: Record<string, unknown>
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: Buffer
}

export interface EventReceiver {
  readonly url: string
  readonly received: Received[]
  close(): void
}

/** A webhook receiver on loopback: the server must allow private targets. */
export async function receiveEvents(): Promise<EventReceiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const isJson = request.headers['content-type']?.startsWith('application/json')
      const event = (isJson ? JSON.parse(body.toString()) : { type: 'thumbnail', event: '', data: {} }) as {
        type: string
        event: string
        data: Record<string, unknown>
      }
      received.push({ name: `${event.type} ${event.event}`.trim(), data: event.data, headers: request.headers, body })
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, received, close: () => void server.close() }
}

/** Creates a webhook for recordings and thumbnails. */
export async function subscribeTo(sluice: RunningApp, url: string): Promise<void> {
  const body = { url, isRecordingHooks: true, isThumbnailHooks: true }
  const { status, text } = await sluice.call('POST', '/api/webhooks', body)
  if (status !== 200) throw new Error(text)
}
