import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('region', 'the token is good in every region')
const PASS = pass('region', 'this node is in the region of the token')

/** A token may take publishers in one region only. Nodes of others send them on, or say where to go. */
export function checkRegion({ request, policy, token: { originRegion } }: Question): Verdict {
  if (request.action !== 'publish' || originRegion === null) return SKIP
  if (originRegion === policy.region) return PASS
  const here = policy.region === '' ? 'has none' : `is in ${policy.region}`
  return fail(
    'region',
    'region_not_allowed',
    `the token takes publishers in the region ${originRegion}, and this node ${here}`,
    `This token publishes only at servers of the region ${originRegion}`,
  )
}
