import type { IncomingMessage } from 'node:http'
import type { FastifyReply } from 'fastify'

const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors"

const HTML = 'text/html; charset=utf-8'

/** Whether a person looks at the answer: browsers name HTML when they open an address, clients of the interfaces do not. */
export const wantsPage = ({ method, headers: { accept = '' } }: Pick<IncomingMessage, 'method' | 'headers'>): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(accept)

/** What a person reads at an address where nothing is. All of it is ours: it is not escaped. */
export interface WrongAddress {
  readonly status: number
  readonly title: string
  readonly text: string
}

const NOT_FOUND: WrongAddress = {
  status: 404,
  title: 'There is nothing at this address',
  text: 'A part of it may be missing. Streams are at <code>/watch/ACCOUNT/STREAM</code>.',
}

const NOT_AN_ADDRESS: WrongAddress = {
  status: 400,
  title: 'This address is not valid',
  text: 'A part of it was damaged on its way. Open the link again from where you got it, or ask for a new one.',
}

const NO_STREAM_NAME: WrongAddress = {
  ...NOT_AN_ADDRESS,
  text: 'No stream can have the name at its end. Check it, or ask the person who sent you here for a new link.',
}

const TOO_LONG: WrongAddress = { ...NOT_AN_ADDRESS, status: 414, title: 'This address is too long' }

/** Whether the address is one of the pages that others embed: a frame with a wrong address must not stay blank. */
const isEmbedded = (path: string): boolean => path.startsWith('/watch/')

/** The headers of such a page. A page that is cross-origin isolated shows only frames that are, too. */
const headersAt = (path: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': `${POLICY} ${isEmbedded(path) ? '*' : "'none'"}`,
  'Cache-Control': 'no-store',
  Vary: 'Accept',
  ...(isEmbedded(path)
    ? { 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cross-Origin-Resource-Policy': 'cross-origin' }
    : {}),
})

/** Answers 404 with a page that leads to the start. */
export const sendNotFoundPage = (reply: FastifyReply, path: string): FastifyReply => send(reply, path, NOT_FOUND)

/** Answers 400 with a page: no stream has such a name. */
export const sendNoNamePage = (reply: FastifyReply, path: string): FastifyReply => send(reply, path, NO_STREAM_NAME)

/** Answers 400 or 414 with a page: the router cannot read the address. */
export const sendUnreadablePage = (reply: FastifyReply, path: string, isTooLong: boolean): FastifyReply =>
  send(reply, path, isTooLong ? TOO_LONG : NOT_AN_ADDRESS)

function send(reply: FastifyReply, path: string, wrong: WrongAddress): FastifyReply {
  return reply
    .code(wrong.status)
    .headers(headersAt(path))
    .type(HTML)
    .serializer((page: string) => page)
    .send(pageAt(path, wrong))
}

/** The page for an address whose bytes no router gets to read, with its headers. */
export const damagedPage = (path: string): { headers: Readonly<Record<string, string>>; body: string } => ({
  headers: { 'Content-Type': HTML, ...headersAt(path) },
  body: pageAt(path, NOT_AN_ADDRESS),
})

/** No page of ours is deeper. */
const DEPTH_MAX = 8

/** Without the address, which others may have written. Links are relative, because a proxy may put a prefix in front. */
function pageAt(path: string, { title, text }: WrongAddress): string {
  const depth = path.split('/').length - 2
  const root = depth > DEPTH_MAX ? '/' : '../'.repeat(depth) || './'
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="stylesheet" href="${root}trust/page.css" />
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a class="main" href="${root}" target="_top">To the start</a></p>
    </main>
  </body>
</html>
`
}
