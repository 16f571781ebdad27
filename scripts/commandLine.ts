import { readFileSync } from 'node:fs'
import { parseArgs, type ParseArgsConfig } from 'node:util'

/**
 * Parses the command line of a script or a bench. With `--help` it prints the comment at the top of that file and exits; at a wrong
 * flag too, with the status 2.
 */
export function readCommandLine<const C extends ParseArgsConfig>(config: C): ReturnType<typeof parseArgs<C>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(usageOf(process.argv[1] ?? ''))
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usageOf(process.argv[1] ?? '')}`)
    process.exit(2)
  }
}

/** The comment at the top of a file, without its signs. */
function usageOf(file: string): string {
  const [head = ''] = readFileSync(file, 'utf8').split(/^import /m, 1)
  return head.replaceAll(/^(\/\*\*|\/\/| \*\/| \*) ?/gm, '').trim()
}
