import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Players as published. The light build of hls.js does not support redundant streams. */
const PACKAGES: Readonly<Record<string, string>> = {
  '/hls.js': 'hls.js/dist/hls.min.mjs',
  '/video.js': 'video.js/dist/video.min.js',
  '/shaka.js': 'shaka-player/dist/shaka-player.compiled.js',
}
const OWN = ['/page.js', '/players.js', '/players.html', '/library.js', '/library.html', '/record.js']

function fileOf(path: string): URL {
  const name = PACKAGES[path]
  if (name !== undefined) return new URL(import.meta.resolve(name))
  if (path.startsWith('/client/'))
    return new URL(`.${path.slice('/client'.length)}`, import.meta.resolve('sluice/client'))
  const file = path.startsWith('/demo/') ? `../../web${path}` : OWN.includes(path) ? `.${path}` : './page.html'
  return new URL(file, import.meta.url)
}

/** A page with this body and this policy. */
function sendSite(query: URLSearchParams, response: ServerResponse): void {
  const policy = query.get('policy')
  if (policy !== null) response.setHeader('Content-Security-Policy', policy)
  response.setHeader('Content-Type', 'text/html')
  response.end(`<!doctype html>${query.get('body') ?? ''}`)
}

/** Serves the page of a peer under any host name: every name that ends in `.test` is this machine. */
export async function servePages(): Promise<{ origin(host: string): string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    if (path.startsWith('/site?')) return sendSite(new URL(path, 'http://site').searchParams, response)
    const file = fileOf(path)
    readFile(file).then(
      (content) => {
        response.setHeader('Content-Type', file.pathname.endsWith('js') ? 'text/javascript' : 'text/html')
        response.end(content)
      },
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: (host) => `http://${host}:${port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
