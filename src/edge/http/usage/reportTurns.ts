import type { FastifyReply, FastifyRequest } from 'fastify'
import { Turns } from '../../../base/turns.ts'
import { failure } from '../../../core/errors.ts'
import { accountOf } from '../auth.ts'
import { sayRetryAfter } from '../limits.ts'

/** While a report is made, its rows are in memory, up to some 50 MB. */
const LIMITS = { atOnce: 4, waitingMax: 1_000, waitingOfOriginMax: 100 }
const RETRY_MS = 10_000
const TOO_MANY = `A node makes ${LIMITS.atOnce} reports at once, and ${LIMITS.waitingOfOriginMax} of an account may wait: try again later`

/** Of the whole process: reports of both interfaces and of the dashboard. */
const turns = new Turns(LIMITS)

/** Makes a report when it has its turn; accounts take turns. Null: too many wait already. */
export const makeReport = <T>(request: FastifyRequest, work: () => Promise<T>): Promise<T | null> =>
  turns.run({ key: accountOf(request), isFirst: false }, work)

/** The refusal of a report for which there is no turn. */
export function tooManyReports(reply: FastifyReply) {
  sayRetryAfter(reply, RETRY_MS)
  return failure('rate_limited', TOO_MANY)
}
