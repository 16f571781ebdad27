import type { FastifyInstance } from 'fastify'
import { nothingThere } from '../pathId.ts'
import { sendFile } from '../staticFile.ts'

const PAGES = new URL('../../../../web/trust/', import.meta.url)

const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * How to get to a page that browsers trust, at `/trust`, and the certificate of our own authority, at `/ca.pem`.
 * @param authority null: there is none
 */
export function trustRoutes(app: FastifyInstance, authority: string | null): void {
  const page = authority === null ? 'none.html' : 'authority.html'
  const headers = { 'Content-Security-Policy': POLICY }
  app.get('/trust', (request, reply) => sendFile(request, reply.headers(headers), new URL(page, PAGES), 'html'))
  app.get('/trust/page.css', (request, reply) => sendFile(request, reply, new URL('page.css', PAGES), 'css'))
  app.get('/ca.pem', (_request, reply) => {
    if (authority === null) return nothingThere(reply)
    // Phones offer to install a file of this type.
    return reply
      .header('Content-Disposition', 'attachment; filename="sluice-ca.crt"')
      .type('application/x-x509-ca-cert')
      .send(authority)
  })
}
