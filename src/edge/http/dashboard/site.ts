import { requestedAt } from '../about/server.ts'
import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Site } from '../../../commands/users/webAuthn.ts'
import type { DashboardApi } from './parts.ts'

/**
 * Where the browser sees the pages: the host of the request, or the one that a trusted proxy says it was asked for. Null
 * for an address: browsers keep passkeys for names only. They offer passkeys over https and on localhost alone, so that
 * the scheme need not be known.
 */
export function siteOf({ ctx }: DashboardApi, request: FastifyRequest): Site | null {
  const { host } = requestedAt(ctx, request)
  const rpId = /^([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? ''
  if (rpId === '' || isIP(rpId) !== 0) return null
  return { rpId, origins: [`https://${host.toLowerCase()}`, `http://${host.toLowerCase()}`] }
}
