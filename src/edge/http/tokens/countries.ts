import type { FastifyReply } from 'fastify'
import type { AccessContext } from '../../../commands/context.ts'
import { namesCountries } from '../../../core/tokens/accountDefaults.ts'

const NO_COUNTRIES =
  'No country database is configured (geoip.database): an allow list of countries refuses every client, a deny list refuses none.'

/** Says in a header that country rules do not work as they should without a country database. */
export function warnOfCountries(
  { hasCountries }: Pick<AccessContext, 'hasCountries'>,
  reply: FastifyReply,
  rules: Parameters<typeof namesCountries>[0],
): void {
  if (hasCountries() || !namesCountries(rules)) return
  reply.header('X-Service-Warning', NO_COUNTRIES)
}
