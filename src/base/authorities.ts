import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { fileProblem } from './errorCode.ts'

/** The certificates of authorities in a file, PEM. @throws Error, whose message follows the path */
export function readAuthorities(file: string): string {
  const text = textOf(file)
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('has no certificate in PEM form')
  return text
}

/** Why the file of a key of the configuration cannot be used as authorities; null: it can, or none is set. */
export function authoritiesProblem(key: string, file: string): string | null {
  try {
    if (file !== '') createSecureContext({ ca: readAuthorities(file) })
    return null
  } catch (error) {
    return `${key}: ${file} ${(error as Error).message}`
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(fileProblem(error), { cause: error })
  }
}
