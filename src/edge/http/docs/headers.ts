import { pagePolicy } from '../pagePolicy.ts'

/** Everything comes from this server, nothing is inline, and no text becomes code or elements. */
const POLICY = pagePolicy(["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"])

/** Of the documentation and the API reference. */
export const PAGE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}
