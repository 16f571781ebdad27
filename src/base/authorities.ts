import { readFileSync } from 'node:fs'
import { fileProblem } from './errorCode.ts'

/** The certificates of authorities in a file, PEM. @throws Error, whose message follows the path */
export function readAuthorities(file: string): string {
  const text = textOf(file)
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('has no certificate in PEM form')
  return text
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(fileProblem(error), { cause: error })
  }
}
