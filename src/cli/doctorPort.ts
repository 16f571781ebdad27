import type { Config } from '../config/schema.ts'
import { type Finding, found } from './doctorMachine.ts'
import { portProblem, reachableUrl } from './port.ts'

const ANSWER_TIMEOUT_MS = 2000

/** Whether the port is free, or in use by a Sluice that answers. */
export async function checkPort(config: Config): Promise<Finding> {
  const { host, port } = config.server
  const problem = await portProblem(host, port)
  if (problem === null) return found('ok', 'port', `${host} port ${port} is free`)
  if (problem.code !== 'EADDRINUSE') return found('FAIL', 'port', problem.message)
  if (await answers(reachableUrl(host, port))) return found('ok', 'port', `a server answers on ${host} port ${port}`)
  return found('FAIL', 'port', problem.message)
}

/** Whether a Sluice answers on the configured port. */
export async function isServing({ server: { host, port } }: Config): Promise<boolean> {
  return port !== 0 && (await answers(reachableUrl(host, port)))
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, {
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      redirect: 'manual',
    })
    const text = (await response.text()).slice(0, 16)
    return response.ok && text.trim() === 'ok' && response.headers.has('x-request-id')
  } catch {
    return false
  }
}
