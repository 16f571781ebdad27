import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/** The status and the `Location` of a request for this host, which `fetch` would not send. */
export async function redirected(
  port: number,
  host: string,
  { path = '/', method = 'GET' }: { readonly path?: string; readonly method?: string } = {},
): Promise<{ readonly status: number | undefined; readonly location: string | undefined }> {
  const asking = request({ host: '127.0.0.1', port, path, method, headers: { host } }).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  answer.resume()
  return { status: answer.statusCode, location: answer.headers.location }
}
