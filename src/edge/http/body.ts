import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { BadBody } from './problem.ts'

/**
 * JSON bodies: an empty one is "no body" (clients send the content type with DELETE), everything else must be UTF-8
 * and JSON. Keys that would reach an object's prototype are refused.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

/** @throws BadBody, with a message that is safe to show */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  const text = body.toString()
  // What is not valid was replaced, so text without the replacement needs no second look.
  if (text.includes('\uFFFD') && !isUtf8(body)) throw new BadBody('The body is not valid UTF-8')
  try {
    return JSON.parse(text, text.includes('__proto__') ? refusePrototype : undefined)
  } catch (error) {
    if (error instanceof BadBody) throw error
    throw new BadBody(`The body is not valid JSON${position(error)}`)
  }
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new BadBody('The body has a property named __proto__, which is not allowed')
  return value
}

function position(error: unknown): string {
  const found = /position (\d+)/.exec(error instanceof Error ? error.message : '')
  return found ? `: something is wrong at character ${found[1]}` : ''
}
