import type { FastifyReply, FastifyRequest } from 'fastify'

const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Whether a person looks at the answer: browsers name HTML when they open an address, clients of the interfaces do not. */
export const wantsPage = ({ method, headers: { accept = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(accept)

/** Answers 404 with a page that leads to the start. */
export function sendNotFoundPage(reply: FastifyReply, path: string): FastifyReply {
  return reply
    .code(404)
    .headers({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-store', Vary: 'Accept' })
    .type('text/html; charset=utf-8')
    .serializer((page: string) => page)
    .send(pageAt(path))
}

/** No page of ours is deeper. */
const DEPTH_MAX = 8

/** Without the address, which others may have written. Links are relative, because a proxy may put a prefix in front. */
function pageAt(path: string): string {
  const depth = path.split('/').length - 2
  const root = depth > DEPTH_MAX ? '/' : '../'.repeat(depth) || './'
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Nothing here</title>
    <link rel="stylesheet" href="${root}trust/page.css" />
  </head>
  <body>
    <main>
      <h1>There is nothing at this address</h1>
      <p>A part of it may be missing. Streams are at <code>/watch/ACCOUNT/STREAM</code>.</p>
      <p><a class="main" href="${root}">To the start</a></p>
    </main>
  </body>
</html>
`
}
