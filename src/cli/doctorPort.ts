import { request as plainRequest } from 'node:http'
import { request as encryptedRequest } from 'node:https'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'
import { portProblem, serverUrl } from './port.ts'

const ANSWER_TIMEOUT_MS = 2000

/** Whether the port is free, or in use by a Sluice that answers. */
export async function checkPort(config: Config): Promise<Finding> {
  const { host, port } = config.server
  const problem = await portProblem(host, port)
  if (problem === null) return found('ok', 'port', 'port_free', { host, port })
  if (problem.code === 'EADDRINUSE' && (await answers(serverUrl(config))))
    return found('ok', 'port', 'port_answers', { host, port })
  return found('FAIL', 'port', 'text', { text: problem.message })
}

/** Whether a Sluice answers on the configured port. */
export const isServing = async (config: Config): Promise<boolean> =>
  config.server.port !== 0 && (await answers(serverUrl(config)))

/** Whatever its certificate: on this machine the name may be another, and nothing secret is sent. */
function answers(url: string): Promise<boolean> {
  const request = url.startsWith('https:') ? encryptedRequest : plainRequest
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  return new Promise((resolve) => {
    const asking = request(`${url}/healthz`, { signal, rejectUnauthorized: false }, (response) => {
      resolve(response.statusCode === 200 && response.headers['x-request-id'] !== undefined)
      response.destroy()
    })
    asking.on('error', () => resolve(false))
    asking.end()
  })
}
