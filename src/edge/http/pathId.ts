import type { FastifyReply } from 'fastify'
import type { Result } from '../../base/result.ts'
import type { Failure } from '../../core/errors.ts'
import { sendFailure, sendResult } from './problem.ts'

/**
 * Runs a command on the id in a path. An integer that cannot be an id names nothing. A word that is not an integer is
 * another path, which does not exist.
 */
export async function withPathId<T>(
  reply: FastifyReply,
  word: string,
  noSuch: (word: string) => Failure,
  command: (id: number) => Promise<Result<T, Failure>>,
): Promise<FastifyReply> {
  const id = readPathId(word)
  if (id === undefined) return nothingThere(reply)
  return id === null ? sendFailure(reply, noSuch(word)) : sendResult(reply, await command(id))
}

/** Answers as for a path without a route: 404, or 405 when another route matches. */
export function nothingThere(reply: FastifyReply): FastifyReply {
  reply.callNotFound()
  return reply
}

/** Null: an integer that cannot be an id; undefined: not an integer. */
export function readPathId(word: string): number | null | undefined {
  if (!/^-?\d+$/.test(word)) return undefined
  return /^[1-9]\d{0,14}$/.test(word) ? Number(word) : null
}
